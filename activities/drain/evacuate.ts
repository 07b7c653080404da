import type { DisruptionReason } from '../../api/budgets/budget.ts';
import { drainRules } from '../../api/rules/pool-defaults.ts';
import { departureOf } from '../../decisions/drain/departure.ts';
import { evacuationNeed, mayRestart, triesInARow, tryOf } from '../../decisions/drain/need.ts';
import type { NotMoved } from '../../decisions/drain/refusals.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { membershipChangeOf } from '../../decisions/membership/change.ts';
import type { EvacuationTarget } from '../../decisions/owners/steps.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { ActRefused } from '../../kubernetes/errors.ts';
import type { ActivityOptions, ClusterAccess } from '../cache/access.ts';
import { References } from '../configuration/references.ts';
import { doWithClaim, NotAdmitted, type Claim } from '../disruption-budget/claim.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import { actOnVm } from '../disruption/act-on-vm.ts';
import { Migrations } from '../disruption/migrations.ts';
import { restartVm } from '../disruption/restart-vm.ts';
import { recordVmEvent } from '../lib/events.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVmWithVmi, type LiveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';

interface Evacuated {
  notMoved: NotMoved[];
  minVersions: ResourceVersions;
}

interface EvacuationActivityOptions extends ActivityOptions {
  claims: DisruptionClaims;
}

export function createEvacuationActivities({ client, cache, claims, concurrency }: EvacuationActivityOptions) {
  return {
    /**
     * Begins to move VMs off their nodes, each only if it still is to leave, and within the budget: creates a
     * migration, or restarts the VM. Safe to run again at any point: the name of a migration says which one it is, and
     * a VMI that has ended is not restarted.
     */
    evacuateVms: async (key: PoolKey, vms: EvacuationTarget[], minVersions: ResourceVersions): Promise<Evacuated> => {
      await cache.catchUp(minVersions, key);
      const evacuator = new Evacuator({ client, cache, claims, key });
      const notMoved = await forEachConcurrently(vms, (vm) => evacuator.execute(vm), concurrency);
      return { notMoved, minVersions: evacuator.minVersions };
    },
  };
}

export type EvacuationActivities = ReturnType<typeof createEvacuationActivities>;

interface EvacuatorOptions extends ClusterAccess {
  claims: DisruptionClaims;
  key: PoolKey;
}

/** Begins to move VMs of one pool. */
class Evacuator {
  readonly #in: EvacuatorOptions;
  readonly #references: References;
  readonly #migrations: Migrations;
  #minVersions: ResourceVersions = {};

  constructor(options: EvacuatorOptions) {
    this.#in = options;
    this.#references = new References(options.client);
    this.#migrations = new Migrations(options);
  }

  /** What caches must have reached to show what was done or found. */
  get minVersions(): ResourceVersions {
    return this.#minVersions;
  }

  /** Returns null if there is nothing more to do. Throws transient errors, for the caller to retry. */
  async execute(target: EvacuationTarget): Promise<NotMoved | null> {
    const about = { vm: target.name, uid: target.uid };
    const outcome = await actOnVm(
      () => this.#evacuate(target),
      ({ message }): NotMoved => ({ ...about, reason: 'Refused', message }),
    );
    return outcome instanceof NotAdmitted ? { ...about, reason: outcome.reason, message: outcome.whyNot } : outcome;
  }

  async #evacuate(target: EvacuationTarget): Promise<NotAdmitted | null> {
    const { client, key, claims } = this.#in;
    const { pool, live } = await this.#read(target);
    if (pool === undefined || live?.vmi === undefined) return null;
    const { stored, vm, vmi } = live;
    this.#raiseMinVersions({ vms: vm.resourceVersion, vmis: vmi.resourceVersion });
    if (target.act === 'cancel')
      return isMemberOf(pool, vm) && vmi.uid === target.uid ? this.#migrations.cancel(vmi, target.message) : null;
    const reason = reasonFor(target, pool, vm, vmi);
    if (reason === null) return null;
    if (target.act === 'restart') await this.#references.refuseRestart(stored, vmi);
    const attempt = (vmi.evacuation?.attempt ?? 0) + 1;
    const begun =
      target.act === 'migrate'
        ? await this.#migrations.begin({ purpose: 'drain', vm, vmi, attempt, reason })
        : await doWithClaim(claims, { vm, vmi, reason, pool: key }, (claim) =>
            restartVm(client, { vm, vmi, claim, refuse: () => this.#refuse(target, claim) }),
          );
    if (begun instanceof NotAdmitted) return begun;
    this.#raiseMinVersions(begun);
    const what = target.act === 'migrate' ? `Migrated (attempt ${tryOf(triesInARow(vmi, Date.now()))})` : 'Restarted';
    const isDrained = departureOf(vmi) === 'Drain';
    const note = `${what} to leave node ${target.node}${isDrained ? ', which is drained' : ''}: ${target.message}`;
    await recordVmEvent(client, vm, { type: 'Normal', reason: 'Evacuating', action: 'Evacuate', note });
    return null;
  }

  async #read({ name }: EvacuationTarget): Promise<{ pool: StoredPool | undefined; live: LiveVm | undefined }> {
    const { client, key } = this.#in;
    const at = { namespace: key.namespace, name };
    const [pool, live] = await Promise.all([livePool(client, key), liveVmWithVmi(this.#in, at)]);
    return { pool, live };
  }

  /** Throws a conflict if the VM is no longer to be restarted. */
  async #refuse(target: EvacuationTarget, claim: Claim): Promise<void> {
    const { pool, live: { vm, vmi } = {} } = await this.#read(target);
    if (pool === undefined || vm === undefined || vmi === undefined || reasonFor(target, pool, vm, vmi) === null)
      throw new ActRefused('Conflict', 'it is no longer to leave its node');
    claim.recheck(vm);
  }

  #raiseMinVersions(newer: ResourceVersions): void {
    this.#minVersions = maxVersions(this.#minVersions, newer);
  }
}

const isMemberOf = ({ metadata }: StoredPool, vm: VmView): boolean =>
  isOwnedBy(vm, 'VirtualMachinePool', metadata) && metadata.deletionTimestamp === undefined;

/** Decides again, on the VM and the pool as they are now, what this is to be done to the VM for; null if it is not. */
function reasonFor(
  { uid, act }: EvacuationTarget,
  pool: StoredPool,
  vm: VmView,
  vmi: VmiView,
): Extract<DisruptionReason, 'Drain' | 'Wish'> | null {
  const rules = drainRules(pool.spec);
  if (rules === null || !isMemberOf(pool, vm) || vmi.uid !== uid || membershipChangeOf(pool) !== null) return null;
  const need = evacuationNeed({ vm, vmi, rules, refusal: undefined, now: Date.now() });
  if (need.need !== 'act') return null;
  // Migrations that are refused leave no trace in the cluster: the plan alone knows that their deadline has passed.
  const isWanted = need.act === act || (act === 'restart' && !need.isWish && mayRestart({ vm, rules }, vmi));
  if (!isWanted) return null;
  return need.isWish ? 'Wish' : 'Drain';
}
