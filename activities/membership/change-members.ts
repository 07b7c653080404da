import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachineInstances, VirtualMachinePools } from '../../api/resources.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import {
  changeAnnotation,
  isOfEarlierPool,
  listedChangeOf,
  membershipChangeOf,
  type ListedChange,
  type MembershipChange,
  type MembersReport,
} from '../../decisions/membership/change.ts';
import {
  isHandover,
  abandonedChangeOf,
  membershipRequestOf,
  permittedRequestOf,
  type ListedRequest,
} from '../../decisions/membership/membership-request.ts';
import { joinPatches, whyNotAdopted, type Vm } from '../../decisions/membership/moves.ts';
import type { ReadRequest } from '../../decisions/owners/request.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { handOver } from './hand-over.ts';
import { MembersRun } from './members-run.ts';

/** `report`: null if nothing is requested of the pool any longer. `minVersions`: what a later plan must have seen. */
export interface MembersChanged {
  report: MembersReport | null;
  minVersions: ResourceVersions;
}

type Change = MembershipChange & ListedChange;
type Request = Extract<ReadRequest<ListedRequest>, { body: object }>;

/**
 * Carries out what the request on the pool asks for. If that is about VMs by their names, the pool is told before which
 * are to move, and after the last it wants as many more, or fewer: both writes are on the version that was read. An
 * attempt that was cut short anywhere is continued by the next. What is no longer requested ends as it is.
 */
export async function changeMembers(client: KubeClient, key: PoolKey, concurrency: number): Promise<MembersChanged> {
  const run = new ListedRun(client, key, concurrency);
  return { report: await run.carryOut(), minVersions: run.minVersions };
}

/** A VM that is asked for; `why`: `moved`, or what keeps it from that, after its name; null if nothing does. */
interface Looked {
  name: string;
  /** Undefined if it is gone. */
  vm: Vm | undefined;
  message: string | null;
}

class ListedRun extends MembersRun {
  async carryOut(): Promise<MembersReport | null> {
    const pool = await this.pool();
    if (pool === undefined) return null;
    const abandoned = abandonedChangeOf(pool, membershipRequestOf(pool));
    // What else is asked for, the next plan judges.
    if (abandoned !== null) await this.#end(abandoned);
    const permitted = permittedRequestOf(pool);
    if (abandoned !== null || permitted === null) return null;
    const { body, ...rest } = permitted;
    if (isHandover(body)) return handOver(this, { ...rest, body });
    const listed = { ...rest, body };
    const change = await this.#begin(listed);
    if (change !== null) {
      await this.#move(change);
      await this.#end(change);
    }
    return this.#report(listed);
  }

  /**
   * Records on the pool which VMs are to move, and returns that: the VMs that can, and have not moved yet. An earlier
   * attempt may have recorded it. Null if none are to move, or the pool has another request meanwhile.
   */
  #begin(request: Request): Promise<Change | null> {
    const { body, digest, by } = request;
    return retryOnConflict(async () => {
      const pool = await this.requestedPool(digest);
      if (pool === undefined) return null;
      if (membershipChangeOf(pool) !== null) {
        const begun = listedChangeOf(pool);
        return begun?.request === digest ? onlyRequested(begun, body) : null;
      }
      const looked = await this.#look(pool, body);
      const vms = looked.flatMap(({ vm, message }) =>
        message === null ? [{ name: vm!.metadata.name, uid: vm!.metadata.uid }] : [],
      );
      if (vms.length === 0) return null;
      const at = new Date(this.client.clock.now()).toISOString();
      const change: Change = { kind: 'adopt', isCounted: body.keepReplicas !== true, vms, request: digest, by, at };
      await this.write(pool, changeAnnotation(change));
      return change;
    });
  }

  /** Looks at each VM that is asked for. */
  async #look(pool: StoredPool, body: Pick<ListedRequest, 'vms' | 'uids'>): Promise<Looked[]> {
    const { namespace } = this.key;
    const found = new Map<string, Vm | undefined>();
    await this.onEach(body.vms, async (name) => {
      const vm = await liveVm(this.client, { namespace, name });
      this.saw({ vms: vm?.metadata.resourceVersion });
      found.set(name, vm);
    });
    return body.vms.map((name, index): Looked => {
      const vm = found.get(name);
      if (vm === undefined || (body.uids?.[index] ?? vm.metadata.uid) !== vm.metadata.uid)
        return { name, vm: undefined, message: 'is gone' };
      const isOwn = isControlledBy(vm, VirtualMachinePools, pool.metadata);
      return { name, vm, message: isOwn ? 'moved' : whyNotAdopted(pool, vm) };
    });
  }

  /** Moves the VMs, each only while the pool is held for this change. */
  async #move({ vms, request }: Change): Promise<void> {
    const pool = await this.pool();
    if (pool === undefined) return;
    await this.moveEach(
      vms,
      request,
      (read) => joinPatches(pool, read, null, this.client.clock.now()),
      (now) => listedChangeOf(now)?.request === request,
    );
  }

  /**
   * Lets the pool continue, unless another attempt has: it wants as many VMs more as have come, from the same write on.
   */
  async #end(change: Change): Promise<void> {
    const { vms, request } = change;
    const body = { vms: vms.map(({ name }) => name), uids: vms.map(({ uid }) => uid) };
    await retryOnConflict(async () => {
      const pool = await this.pool();
      if (pool === undefined || listedChangeOf(pool)?.request !== request) return;
      const added = (await this.#look(pool, body)).filter(({ message }) => message === 'moved').length;
      const isToCount = change.isCounted && !isOfEarlierPool(change, pool);
      await this.write(pool, { [MEMBERSHIP_CHANGE_ANNOTATION]: null }, isToCount ? added : 0);
    });
  }

  /** A plan that has not seen the revision of the VMI would restart it. */
  async #sawVmi(name: string): Promise<void> {
    const at = { namespace: this.key.namespace, name };
    const vmi = await ignoreNotFound(this.client.get(VirtualMachineInstances, at));
    this.saw({ vmis: vmi?.metadata.resourceVersion });
  }

  async #report({ body, digest }: Request): Promise<MembersReport | null> {
    const pool = await this.pool();
    if (pool === undefined) return null;
    const looked = await this.#look(pool, body);
    const others = looked.filter(({ message }) => message !== 'moved');
    const moved = looked.flatMap(({ name, message }) => (message === 'moved' ? [name] : []));
    await this.onEach(moved, (name) => this.#sawVmi(name));
    return {
      digest,
      moved,
      faults: others.map(({ name, message }) => ({
        vm: name,
        message: this.refused.get(name) ?? `it ${message ?? 'has changed meanwhile: ask again'}`,
      })),
    };
  }
}

/** The annotation may be written by users who may not have VMs moved. */
const onlyRequested = (change: Change, { vms, uids }: ListedRequest): Change => ({
  ...change,
  vms: change.vms.filter(({ name, uid }) => {
    const index = vms.indexOf(name);
    return index >= 0 && (uids?.[index] ?? uid) === uid;
  }),
});
