import { activityInfo, cancellationSignal, log } from '@temporalio/activity';
import { REMOVING_ANNOTATION } from '../../api/names.ts';
import { scaleInRules } from '../../api/pool-defaults.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { isActive } from '../../decisions/disruption-budget/availability.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { Target } from '../../decisions/pool/steps.ts';
import { isOvertaken } from '../../decisions/scaling/choice.ts';
import { isProtected } from '../../decisions/scaling/protection.ts';
import { BY_NAME, NOT_NEEDED, removalBlockedBy, type RemovalCause } from '../../decisions/scaling/removal-check.ts';
import { mayLeave } from '../../decisions/scaling/surplus.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isRegular, roleOf, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { waitForTermination } from '../cache/wait-for-termination.ts';
import { deleteKeepingDisks } from '../disks/leave.ts';
import type { DisruptionClaims } from '../disruption-budget/places.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { tryEach } from '../lib/try-each.ts';
import { deleteSurgeVm } from '../surge/delete-surge-vm.ts';
import { activeMembers } from './active-members.ts';
import { deleteVm, isMarked } from './delete-member.ts';
import { ifOwned, type OwnedActResult, type IfOwnedOptions } from './if-owned.ts';
import { kindOfOwner, memberVersions, versionsOf } from './kinds.ts';
import { liveOwner } from './live-owner.ts';
import { reportRemoval } from './removal-events.ts';
import { nothingDone, type Done, type OwnerKey, type PoolKey } from './types.ts';

export interface ScaleInOptions {
  client: KubeClient;
  cache: ClusterCache;
  places: DisruptionClaims;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
}

/** Creates the activities by which VMs leave their owner: deleted, with or without their disks, or halted before. */
export function createScaleInActivities({ client, cache, places, concurrency }: ScaleInOptions) {
  return {
    /**
     * Deletes these VMs and no others of their names, each only if it is still to leave; resolves when the cache shows
     * all of them as terminating or deleted.
     */
    deleteVms: (
      key: OwnerKey,
      vms: Target[],
      keepDisks: boolean,
      cause: RemovalCause,
      planned: ResourceVersions = {},
    ): Promise<Done> =>
      withHeartbeat(async () => {
        const leaving = new LeavingVms(client, cache, key, { vms, cause, planned });
        const { isToLeave } = leaving;
        const { members } = kindOfOwner(key);
        const remove = async (vm: Target): Promise<void> => {
          if (cause.because === 'Surge')
            return leaving.note(vm, await deleteSurgeVm({ client, places }, key, vm, isToLeave));
          // A VM whose disks are kept is deleted only as it was planned: someone may have started it meanwhile.
          const acted = keepDisks
            ? await deleteKeepingDisks(client, key, vm, Date.now(), isToLeave)
            : await deleteVm(client, key, vm, {
                // The place of a VM in a set is free once all that it owns is gone: the next VM may get its name.
                propagationPolicy: key.kind === 'VirtualMachineReplicaSet' ? 'Foreground' : 'Background',
                isWanted: isToLeave,
                ...ifChanged(key, cause),
              });
          leaving.note(vm, acted);
        };
        const { count, refused } = await tryEach(vms, remove, { most: concurrency, atFirst: concurrency });
        await Promise.all([
          leaving.report('Delete', refused),
          waitForTermination(cache, key.namespace, members.cache, leaving.acted),
        ]);
        const done = leaving.done(count, refused);
        return { ...done, minVersions: maxVersions(done.minVersions, cache.versionsOf(members.cache)) };
      }),

    /**
     * Halts VMs that leave the pool, each only if it is still to leave, and marks them, so that they are deleted once
     * their VMIs have stopped.
     */
    haltVms: (key: PoolKey, vms: Target[], cause: RemovalCause, planned: ResourceVersions = {}): Promise<Done> =>
      withHeartbeat(async () => {
        const leaving = new LeavingVms(client, cache, key, { vms, cause, planned });
        const halt = async (vm: Target): Promise<void> => {
          const write = async (resourceVersion: string): Promise<void> =>
            leaving.saw(await haltVm(key, vm, resourceVersion, cause));
          const acted = await ifOwned(client, key, vm, write, {
            isWanted: leaving.isToLeave,
            ...ifChanged(key, cause),
          });
          leaving.note(vm, acted);
        };
        const { count, refused } = await tryEach(vms, halt, { most: concurrency });
        await leaving.report('Halt', refused);
        return leaving.done(count, refused);
      }),
  };

  /** Returns the version that was written; undefined if the VM is deleted. */
  async function haltVm(
    { namespace }: PoolKey,
    { name }: Target,
    resourceVersion: string,
    { because }: RemovalCause,
  ): Promise<string | undefined> {
    // One that was marked before keeps its mark, which says why it leaves.
    const mark = because === 'Marked' ? {} : { annotations: { [REMOVING_ANNOTATION]: new Date().toISOString() } };
    const patch = {
      metadata: { resourceVersion, ...mark },
      spec: { running: null, runStrategy: 'Halted' },
    };
    const options = { signal: cancellationSignal() };
    const halted = await ignoreNotFound(client.patch(VirtualMachines, { namespace, name }, 'merge', patch, options));
    return halted?.metadata.resourceVersion;
  }
}

/** Which VMs still leave that have changed since the plan. */
function ifChanged({ kind }: OwnerKey, { because }: RemovalCause): Omit<IfOwnedOptions, 'isWanted'> {
  switch (because) {
    case 'Surplus':
      return kind === undefined
        ? { isSame: ({ metadata }) => !isProtected(metadata.annotations) && roleOf(metadata.labels) === null }
        : {};
    case 'StandbySurplus':
      return { isSame: ({ metadata }) => !isProtected(metadata.annotations) && roleOf(metadata.labels) === 'Standby' };
    // One that has changed may have been started again.
    case 'SurplusHalted':
    case 'Ended':
      return { tries: 1 };
    // If a user has removed the annotation, the VM stays.
    case 'Marked':
      return { isSame: isMarked };
    case 'Named':
    case 'Surge':
    case 'OwnerDeleted':
    case 'Terminating':
      return {};
  }
}

/**
 * A VM may have gone down since the plan if the worker that was to carry it out is lost: the next plan chooses again.
 */
const isLate = ({ kind }: OwnerKey, { because }: RemovalCause): boolean =>
  kind === undefined && because === 'Surplus' && activityInfo().attempt > 1;

function whyOvertaken(
  cache: ClusterCache,
  key: OwnerKey,
  { spec }: StoredPool,
  { vms, cause }: Leaving,
): string | null {
  const rules = scaleInRules(spec.scaleInStrategy);
  const vmiOf = (vm: VmView): VmiView | undefined => cache.vmiOf(vm);
  const chosen = new Set(vms.map((vm) => vm.uid));
  const others = new Set('others' in cause ? cause.others : []);
  const active = cache.vms.ownedBy('VirtualMachinePool', key).filter(isActive).filter(isRegular);
  const isOver = isOvertaken({
    leaving: active.filter((vm) => chosen.has(vm.uid)),
    staying: active.filter((vm) => !chosen.has(vm.uid) && !others.has(vm.name) && mayLeave({ rules, vmiOf }, vm)),
    policy: rules.kind === 'proactive' ? rules.selectionPolicy : {},
    vmiOf,
  });
  return isOver ? 'another VM has gone down since they were chosen' : null;
}

interface Leaving {
  vms: readonly Target[];
  cause: RemovalCause;
  /** What the plan had seen. */
  planned: ResourceVersions;
}

/** VMs that are to leave their pool or set, and what came of that. */
class LeavingVms {
  readonly #client: KubeClient;
  readonly #cache: ClusterCache;
  readonly #key: OwnerKey;
  readonly #leaving: Leaving;
  /** VMs that were deleted or halted. */
  readonly acted: Target[] = [];
  readonly #notWanted: string[] = [];
  #minVersions: ResourceVersions = {};
  #hasCaughtUp = false;
  /** Asks again, for each VM, whether the VMs are still to leave, by their owner's state at that time. */
  readonly isToLeave = sharedCall(() => this.#isToLeave());

  constructor(client: KubeClient, cache: ClusterCache, key: OwnerKey, leaving: Leaving) {
    this.#client = client;
    this.#cache = cache;
    this.#key = key;
    this.#leaving = leaving;
  }

  async #isToLeave(): Promise<boolean> {
    const { vms, cause, planned } = this.#leaving;
    const role = cause.because === 'StandbySurplus' ? 'Standby' : null;
    const owner = await liveOwner(this.#client, this.#key, cancellationSignal());
    this.#minVersions = maxVersions(this.#minVersions, versionsOf(this.#key, owner?.metadata.resourceVersion));
    const why = (): string | null =>
      removalBlockedBy({ cause, owner, vms: activeMembers(this.#cache, this.#key, owner, role), leaving: vms }) ??
      (isLate(this.#key, cause) ? whyOvertaken(this.#cache, this.#key, owner as StoredPool, this.#leaving) : null);
    // This worker's cache may be older than the plan.
    if (why() !== null && !this.#hasCaughtUp) {
      await this.#cache.catchUp({ vms: planned.vms, vmis: planned.vmis });
      this.#hasCaughtUp = true;
    }
    const reason = why();
    if (reason !== null) log.info('VMs do not leave that were to', { owner: this.#key.name, reason });
    return reason === null;
  }

  note(vm: Target, acted: OwnedActResult): void {
    if (acted === 'done') this.acted.push(vm);
    else if (acted === 'notWanted') this.#notWanted.push(vm.name);
    else this.saw(acted.left);
  }

  /** Notes a version of a VM that a later plan must have seen. */
  saw(version: string | undefined): void {
    this.#minVersions = maxVersions(this.#minVersions, memberVersions(this.#key, version));
  }

  done(count: number, refused: Done['refused']): Done {
    const notWanted = this.#notWanted;
    return { ...nothingDone, count: count - notWanted.length, notWanted, refused, minVersions: this.#minVersions };
  }

  /** Records an Event on their owner. */
  report(verb: 'Delete' | 'Halt', refused: Done['refused']): Promise<void> {
    const { vms: asked, cause } = this.#leaving;
    const whys: Partial<Record<RemovalCause['because'], string>> = { Named: BY_NAME, Surge: NOT_NEEDED };
    const why = whys[cause.because];
    return reportRemoval(this.#client, this.#cache, this.#key, { verb, asked, acted: this.acted, refused, why });
  }
}
