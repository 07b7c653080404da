import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { RestartBudget, type Chosen, type OwningPool, type RestartPicture } from '../decisions/restart-budget.ts';
import { restartNeed, type RestartOutcome } from '../decisions/restart-plan.ts';
import { laterSeen, type Seen } from '../decisions/versions.ts';
import type { StoredPool } from '../decisions/vm-from-template.ts';
import type { VmView } from '../decisions/vm.ts';
import type { VmiView } from '../decisions/vmi.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { isConflict, isTransient, KubeError, orNothing } from '../kubernetes/errors.ts';
import { controllerOf, type KubeObject } from '../kubernetes/objects.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../kubernetes/resources.ts';
import { recordVmEvent } from './events.ts';
import type { Fleet } from './fleet.ts';
import { restartVm } from './restart-vm.ts';
import type { SentDown } from './sent-down.ts';
import { vmView, type VirtualMachine } from './vm-view.ts';
import { vmiView, type VirtualMachineInstance } from './vmi-view.ts';

/** What may pass is tried so often: somebody else's hand in the same VM, or a refusal that may be KubeVirt's own trouble. */
const TRIES = 8;
const TRY_AGAIN_MS = 100;

/** VMs of any owner as this worker's caches have them. */
export const pictureOfVms = (fleet: Fleet): RestartPicture => ({
  vmOf: (key) => fleet.vms.get(key),
  vmiOf: (vm) => fleet.vmiOf(vm),
  poolOf: (vm) => ownerOf(fleet, vm, vm.owner === null ? undefined : fleet.pools.get(`${vm.namespace}/${vm.owner.name}`)),
});

function ownerOf(fleet: Fleet, { owner }: VmView, pool: StoredPool | undefined): OwningPool | undefined {
  return pool === undefined || pool.metadata.uid !== owner?.uid ? undefined : { pool, vms: () => fleet.ownedBy(pool.metadata.uid) };
}

export interface RestartHandOptions {
  client: KubeClient;
  fleet: Fleet;
  sent: SentDown;
  chosen: Chosen;
  /** VMs that count against `maxUnavailable`, by `namespace/name`; all that are chosen where it is left out. */
  counted?: readonly string[];
  maxUnavailable: number;
  /** In hand already, by `namespace/name`. */
  others: string[];
  /** What the Events on the VMs say. */
  note: string;
}

/**
 * Restarts VMs one by one, each decided anew right before the act: only the guest that was chosen, only where nothing stands in
 * its way, and only while the budgets have room. A guest that is gone, or asked to go, is left alone.
 *
 * What remains between two budgets that know nothing of each other, a pool's own rollout and this: each looks at the newest
 * picture right before each act, and the other's acts are in that picture a few milliseconds after they were done, at once
 * where both are restarts by this worker. Only acts that fall into those milliseconds can both find the last room. A rollout
 * that begins can't even do that: as soon as the pool has another template, which is asked of the API server itself, its VMs are
 * left to it, and it takes longer to begin than the one call that may be on its way here. What can is a rollout that goes on
 * after a pause, a step or a window in the very same moment.
 */
export class RestartHand {
  readonly #in: RestartHandOptions;
  /** In hand and not known to be back. */
  readonly #acting: Set<string>;
  #seen: Seen = {};

  constructor(options: RestartHandOptions) {
    this.#in = options;
    this.#acting = new Set(options.others);
  }

  /** What must be seen to see the acts. */
  get seen(): Seen {
    return this.#seen;
  }

  /** Null where the VM is waited for. Throws what may pass, for the caller to try again. */
  async take(key: string): Promise<RestartOutcome | null> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#take(key);
      } catch (error) {
        const isRefusal = error instanceof Unwilling || isConflict(error);
        if (!isRefusal && (!(error instanceof KubeError) || isTransient(error))) throw error;
        if (!isRefusal || tries === TRIES) {
          this.#acting.delete(key);
          this.#in.sent.remove(key);
          return { vm: key, end: 'Failed', why: error.message };
        }
        await sleep(TRY_AGAIN_MS * tries);
      }
    }
  }

  async #take(key: string): Promise<RestartOutcome | null> {
    const { client, sent, chosen, note } = this.#in;
    const guest = chosen.get(key)!;
    const { vm, vmi, owner } = await this.#read(key);
    const need = restartNeed(guest, vm, vmi, owner);
    if (vm === undefined || need.need === 'nothing' || vm.changingState) {
      // It has been sent down already, be it by an attempt of this activity that nobody has heard of.
      this.#acting.add(key);
      return null;
    }
    if (need.need !== 'restart') return { vm: key, end: 'Deferred', why: need.why };
    const full = this.#whyNoRoom(vm, owner);
    if (full !== null) return { vm: key, end: 'Deferred', why: full };
    // Where the answer is lost, it counts until that is known.
    this.#acting.add(key);
    sent.add(key, guest);
    const done = await restartVm(client, vm, need.guest).catch((error: unknown) => {
      throw error instanceof KubeError && error.status === 500 ? new Unwilling(error.message) : error;
    });
    this.#seen = laterSeen(this.#seen, done);
    await recordVmEvent(client, vm, { type: 'Normal', reason: 'Restarted', action: 'Restart', note });
    return null;
  }

  /** As the API server has them in this moment. */
  async #read(key: string): Promise<{ vm?: VmView; vmi?: VmiView; owner?: OwningPool | undefined }> {
    const { client, fleet } = this.#in;
    const [namespace = '', name = ''] = key.split('/');
    const signal = cancellationSignal();
    const [stored, vmi] = await Promise.all([
      orNothing(client.get<VirtualMachine>(VirtualMachines, { namespace, name }, { signal })),
      orNothing(client.get<VirtualMachineInstance>(VirtualMachineInstances, { namespace, name }, { signal })),
    ]);
    if (stored === undefined) return {};
    const vm = vmView(stored);
    const own = vmi !== undefined && controllerOf(vmi)?.uid === vm.uid ? { vmi: vmiView(vmi) } : {};
    if (vm.owner?.kind !== VirtualMachinePools.kind) return { vm, ...own };
    // KubeVirt's own pools are of the same kind by name: the UID tells.
    const pool = await orNothing(client.get<KubeObject>(VirtualMachinePools, { namespace, name: vm.owner.name }, { signal }));
    return { vm, ...own, owner: ownerOf(fleet, vm, pool as StoredPool | undefined) };
  }

  #whyNoRoom(vm: VmView, owner: OwningPool | undefined): string | null {
    const { fleet, sent, chosen, counted = [...chosen.keys()], maxUnavailable } = this.#in;
    const inHand = [...this.#acting, ...sent.keys()];
    return new RestartBudget({ counted, picture: { ...pictureOfVms(fleet), poolOf: () => owner }, inHand, maxUnavailable }).whyNot(vm);
  }
}

/** KubeVirt answers 500 also where it won't: what it says again and again is its last word. */
class Unwilling extends Error {
  override readonly name = 'Unwilling';
}
