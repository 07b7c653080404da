import { activityInfo, log } from '@temporalio/activity';
import { REMOVING_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { scaleInRules } from '../../api/rules/pool-defaults.ts';
import { isActive } from '../../decisions/health/availability.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { withRolesOf } from '../../decisions/membership/roles.ts';
import type { Target, RemovalCause } from '../../decisions/owners/steps.ts';
import { isOvertaken } from '../../decisions/scaling/choice.ts';
import { BY_NAME, NOT_NEEDED, removalBlockedBy } from '../../decisions/scaling/removal-check.ts';
import { mayLeave } from '../../decisions/scaling/surplus.ts';
import { isAboutVmi, removalUnverified, type WayOut } from '../../decisions/scaling/unverified-removal.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isRegular, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { LastCheck } from '../../kubernetes/retry.ts';
import type { ActivityOptions } from '../cache/access.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { waitForTermination } from '../cache/wait-for-termination.ts';
import { checkDeletion } from '../disks/check-deletion.ts';
import { deleteKeepingDisks } from '../disks/keep-disks.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { serverLost } from '../lib/shutdown.ts';
import { activeMembers } from '../owners/active-members.ts';
import type { Done } from '../owners/done.ts';
import { ifOwned, type IfOwnedOptions, type OwnedActResult, type SeenMember } from '../owners/if-owned.ts';
import { kindOfOwner, memberVersions } from '../owners/kinds.ts';
import { liveVmWithVmi } from '../owners/live-vm.ts';
import type { OwnerKey, PoolKey } from '../owners/owner-key.ts';
import { Tally } from '../owners/tally.ts';
import type { Acted } from '../owners/try-each.ts';
import { deleteVm } from './delete-member.ts';
import { deleteSurgeVm } from './delete-surge-vm.ts';

interface ScaleInOptions extends ActivityOptions {
  claims: DisruptionClaims;
}

/** Creates the activities that delete VMs of an owner, with or without their disks, or halt them first. */
export function createScaleInActivities({ client, cache, claims, concurrency }: ScaleInOptions) {
  return {
    /**
     * Deletes these VMs and no others of their names, each only if it is still to leave; resolves when the cache shows
     * all of them as terminating or deleted, and as no longer held for their disks.
     */
    deleteVms: async (
      key: OwnerKey,
      vms: Target[],
      keepDisks: boolean,
      cause: RemovalCause,
      planned: ResourceVersions = {},
    ): Promise<Done> => {
      const leaving = new LeavingVms(client, cache, key, { vms, cause, planned });
      const { members } = kindOfOwner(key);
      const isWanted = leaving.recheckFor(keepDisks ? 'deleteKeepingDisks' : 'delete');
      const remove = async (vm: Target): Promise<Acted> => {
        if (cause.because === 'Surge')
          return leaving.record(vm, await deleteSurgeVm({ client, cache, claims }, key, vm, isWanted));
        // A VM whose disks are kept is deleted only as it was planned: someone may have started it meanwhile.
        const acted = keepDisks
          ? await deleteKeepingDisks(client, key, vm, Date.now(), isWanted)
          : await deleteVm({ client, cache }, key, vm, {
              cache,
              // The place of a VM in a set is free once all that it owns is gone: the next VM may get its name.
              propagationPolicy: key.kind === 'VirtualMachineReplicaSet' ? 'Foreground' : 'Background',
              isWanted,
              ...ifChanged(vm, cause),
            });
        return leaving.record(vm, acted);
      };
      await leaving.each(vms, remove, { most: concurrency, atFirst: concurrency });
      await Promise.all([
        leaving.recordEvents('Delete'),
        waitForTermination(cache, key.namespace, members.cache, leaving.gone, keepDisks),
      ]);
      leaving.saw(cache.versionsOf(members.cache));
      return leaving.done();
    },

    /**
     * Halts VMs that leave the pool, each only if it is still to leave, and marks them, so that they are deleted once
     * their VMIs have stopped.
     */
    haltVms: async (
      key: PoolKey,
      vms: Target[],
      cause: RemovalCause,
      planned: ResourceVersions = {},
    ): Promise<Done> => {
      const leaving = new LeavingVms(client, cache, key, { vms, cause, planned });
      const isWanted = leaving.recheckFor('halt');
      const halt = async (vm: Target): Promise<Acted> => {
        const write = async ({ uid, resourceVersion }: SeenMember, lastCheck: LastCheck): Promise<void> => {
          const at = { namespace: key.namespace, name: vm.name };
          await checkDeletion(client, { ...at, uid, resourceVersion });
          // One that was marked before keeps its mark, which says why it leaves.
          const isAnnotated = cause.because === 'Annotated';
          const annotation = isAnnotated ? {} : { annotations: { [REMOVING_ANNOTATION]: new Date().toISOString() } };
          const patch = {
            metadata: { resourceVersion, ...annotation },
            spec: { running: null, runStrategy: 'Halted' },
          };
          leaving.sawMember(await ignoreNotFound(patchKept(client, VirtualMachines, at, patch, { lastCheck })));
        };
        const acted = await ifOwned(client, key, vm, write, { cache, isWanted, ...ifChanged(vm, cause) });
        return leaving.record(vm, acted);
      };
      await leaving.each(vms, halt, { most: concurrency });
      await leaving.recordEvents('Halt');
      return leaving.done();
    },
  };
}

/** One that leaves for what it does, and has changed since the plan, may do something else by now. */
const ifChanged = ({ resourceVersion }: Target, { because }: RemovalCause): Omit<IfOwnedOptions, 'isWanted'> =>
  because === 'SurplusHalted' || because === 'Ended'
    ? { tries: 1, isSame: (member) => member.resourceVersion === resourceVersion }
    : {};

/**
 * A VM may have gone down since the plan if the worker that was to carry it out is lost: the next plan chooses again.
 */
const isLate = ({ kind }: OwnerKey, { because }: RemovalCause): boolean =>
  kind === undefined && because === 'Surplus' && activityInfo().attempt > 1;

function whyOvertaken(cache: ClusterCache, key: OwnerKey, pool: StoredPool, { vms, cause }: Leaving): string | null {
  const rules = scaleInRules(pool.spec.scaleInStrategy);
  const vmiOf = (vm: VmView): VmiView | undefined => cache.vmiOf(vm);
  const chosen = new Set(vms.map((vm) => vm.uid));
  const others = new Set('others' in cause ? cause.others : []);
  const members = cache.vms.ownedBy('VirtualMachinePool', key).map(withRolesOf(pool));
  const active = members.filter(isActive).filter(isRegular);
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
class LeavingVms extends Tally {
  readonly #cache: ClusterCache;
  readonly #leaving: Leaving;
  /** VMs that were deleted or halted, or gone before. */
  readonly gone: Target[] = [];
  #hasCaughtUp = false;
  /** Asks again whether the VMs together are still to leave, by their owner's state at that time. */
  readonly #rechecked = sharedCall(() => this.#recheck());

  constructor(client: KubeClient, cache: ClusterCache, key: OwnerKey, leaving: Leaving) {
    super(client, key);
    this.#cache = cache;
    this.#leaving = leaving;
  }

  /** Returns what asks, for each VM right before it leaves in this way, whether it still is to. */
  recheckFor(way: WayOut): (member: SeenMember) => Promise<boolean> {
    return async (member) => {
      const { owner, message } = await this.#rechecked();
      const reason = message ?? (await this.#whyNot(member, way, owner!));
      if (reason !== null) log.info('a VM that was to leave stays', { owner: this.key.name, uid: member.uid, reason });
      return reason === null;
    };
  }

  async #whyNot(seen: SeenMember, way: WayOut, owner: StoredVmOwner): Promise<string | null> {
    const { cause } = this.#leaving;
    const { vmi } = seen;
    const isPool = this.key.kind === undefined;
    const vm = seen.vm !== null && isPool ? withRolesOf(owner as StoredPool)(seen.vm) : seen.vm;
    const live = vm !== null && isAboutVmi(cause) ? await this.#liveVmiOf(vm) : vmi;
    const withNode = live == null ? undefined : this.#cache.nodes.withNode(live);
    return removalUnverified({ cause, way, owner, isPool, vm, vmi: withNode });
  }

  /** Resolves to null if the VM has none. */
  async #liveVmiOf(vm: VmView): Promise<VmiView | null> {
    const { vm: now, vmi = null } = (await liveVmWithVmi({ client: this.client, cache: this.#cache }, vm)) ?? {};
    return now?.uid === vm.uid ? vmi : null;
  }

  async #recheck(): Promise<{ owner: StoredVmOwner | undefined; message: string | null }> {
    const { vms, cause, planned } = this.#leaving;
    const role = cause.because === 'StandbySurplus' ? 'Standby' : null;
    if (!(await this.#cache.follows())) throw serverLost();
    const owner = await this.ownerNow();
    const message = (): string | null =>
      removalBlockedBy({ cause, owner, vms: activeMembers(this.#cache, this.key, owner, role), leaving: vms }) ??
      (isLate(this.key, cause) ? whyOvertaken(this.#cache, this.key, owner as StoredPool, this.#leaving) : null);
    // This worker's cache may be older than the plan.
    if (message() !== null && !this.#hasCaughtUp) {
      await this.#cache.catchUp({ vms: planned.vms, vmis: planned.vmis }, this.key);
      this.#hasCaughtUp = true;
    }
    return { owner, message: message() };
  }

  record(vm: Target, acted: OwnedActResult): Acted {
    if (acted === 'notWanted') {
      this.notWanted.push(vm.name);
      return 'skipped';
    }
    if (acted === 'done') this.acted.push(vm.name);
    else if (acted.skippedAt !== undefined) {
      this.saw(memberVersions(this.key, acted.skippedAt));
      return 'skipped';
    }
    this.gone.push(vm);
    return 'done';
  }

  /** Records Events on their owner, which say why just these leave if users have asked for them. */
  recordEvents(verb: 'Delete' | 'Halt'): Promise<void> {
    const whys: Partial<Record<RemovalCause['because'], string>> = { Named: BY_NAME, Surge: NOT_NEEDED };
    const message = whys[this.#leaving.cause.because];
    return this.report(verb, message === undefined ? '' : `: ${message}`);
  }
}
