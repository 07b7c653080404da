import type { Disruption } from '../../../api/pool/pool.ts';
import { updateRules } from '../../../api/rules/pool-defaults.ts';
import { restartsOnChange } from '../../configuration/older-content.ts';
import { deferred, NOTHING, type Excluded, type Need } from '../../disruption/need.ts';
import { whyNotNow } from '../../disruption/reasons.ts';
import { isActive, activeVmi, liveVmi } from '../../health/availability.ts';
import type { BatchVm } from '../../owners/batch.ts';
import type { StoredPool } from '../../views/pool.ts';
import { isOwnedBy, isRegular, isStandby, type VmView } from '../../views/vm.ts';
import type { VmiView } from '../../views/vmi.ts';
import { exceeds } from '../../vm-update/disruption.ts';
import type { UpdateNeed } from '../../vm-update/need.ts';
import { isStartedFrom } from '../../vm-update/started-from.ts';
import { STEP_IS_FULL } from './step.ts';
import { batchStop } from './stop.ts';

/** What a batch does with one of its VMs. */
export type Recheck<Act extends object = UpdateStep> = Exclude<Need<Act>, Excluded> | typeof GONE;

/** It is no longer the VM that was meant. */
const GONE = { need: 'gone' } as const;

interface UpdateStep {
  /** Whether its spec must be written. */
  writes: boolean;
  /** The VMI to restart, if any. */
  restarts: VmiView | null;
  /** Whether the VM may go down by it: a place in its disruption budgets must be claimed first. */
  disrupts: boolean;
}

export interface RecheckInput {
  item: BatchVm;
  /** The batch's number. */
  n: number;
  /** The revision that the batch brings its VMs to, and the one being rolled out: they differ in an undo. */
  revision: string;
  rollout: string;
  /** The VM of that name and its VMI, as they are now. */
  vm: VmView | undefined;
  vmi: VmiView | undefined;
  /** Undefined if it is deleted. */
  pool: StoredPool | undefined;
  /** Milliseconds since the epoch. */
  now: number;
  /** How many more replicas may get the revision before the next step; null: any. */
  toStep: number | null;
  /** What it takes to set the VM right; null, or absent, if nothing will be corrected. */
  correction?: Disruption | null;
}

/**
 * Decides again, right before acting, on what was planned a moment ago: the VM and the rollout may have changed.
 * Ignores the disruption budget, which only a claim can check. May be called again at any point: it leaves alone what
 * has been done, because a VM with its new spec carries the revision, and so does a restarted VMI.
 */
export function recheckVm(input: RecheckInput): Recheck {
  const { item, revision, vm, pool, correction = null } = input;
  if (vm === undefined || pool === undefined || vm.uid !== item.uid || !isActiveIn(pool, vm)) return GONE;
  // A newer batch has acted on the VM since: an attempt that was suspended meanwhile must not bring back the older
  // spec.
  if (vm.revision !== revision && vm.revision !== item.from)
    return deferred(`its spec now has revision ${vm.revision ?? 'unknown'}`);
  const vmi = activeVmi(vm, input.vmi);
  const writes = vm.revision !== revision || correction !== null;
  const isOld = isOldVmi(vmi, { ...input, isWritten: !writes, spec: vm });
  // KubeVirt starts a live update by itself as soon as the spec is written.
  if (!writes && (!isOld || item.act === 'live')) return NOTHING;
  const restarts = item.act === 'restart' && isOld ? vmi : null;
  // Writing the spec may stop even a VMI of the right revision: by its run strategy.
  // An extra VM serves as well: others may be down because it stands in for them.
  const disrupts = !isStandby(vm) && (item.act === 'restart' ? vmi !== undefined : item.act !== 'write');
  const message = whyNot(input, pool, vm) ?? (writes ? whyNotWritten(input, vm, vmi) : null);
  return message === null ? { need: 'act', writes, restarts, disrupts } : deferred(message);
}

/**
 * Reports whether the VMI is of another revision, or is the VMI that is to restart for what it has read. A VMI that was
 * started from the stored spec is of its revision, whatever its label says.
 */
const isOldVmi = (
  vmi: VmiView | undefined,
  { item, revision, isWritten, spec }: RecheckInput & { isWritten: boolean; spec: VmView },
): vmi is VmiView =>
  vmi !== undefined &&
  (vmi.uid === item.vmi || (vmi.revision !== revision && !(isWritten && isStartedFrom(spec, vmi))));

/**
 * Returns why the spec can't be written: no replica may get the revision before the next step; or, without a place in
 * the budget, it could stop or change the VMI that runs now.
 */
function whyNotWritten(
  { item: { act, runs }, revision, toStep, correction }: RecheckInput,
  vm: VmView,
  vmi: VmiView | undefined,
): string | null {
  if (isRegular(vm) && vm.revision !== revision && toStep !== null && toStep <= 0) return STEP_IS_FULL;
  if (act !== 'write' || vmi === undefined) return null;
  if (runs !== true) return 'it now runs';
  return correction === 'Live' ? 'it has changed meanwhile' : null;
}

const restartsForPods = ({ spec }: StoredPool): boolean => {
  const rules = updateRules(spec.updateStrategy);
  return rules.kind === 'proactive' && rules.outdatedPods !== 'Report' && rules.outdatedPods !== 'Migrate';
};

/**
 * Decides again whether a batch migrates one of its VMs, whose VMI is to get a new pod. Nothing is to be done to a VMI
 * that its batch has migrated, however that went, nor to a VMI that has started since.
 */
export function recheckMigration(input: Omit<RecheckInput, 'toStep'>): Recheck<{ vmi: VmiView }> {
  const { item, revision, vm, pool } = input;
  if (vm === undefined || pool === undefined || vm.uid !== item.uid || !isActiveIn(pool, vm)) return GONE;
  if (vm.revision !== revision) return deferred(`its spec now has revision ${vm.revision ?? 'unknown'}`);
  const { migration } = item;
  const vmi = activeVmi(vm, input.vmi);
  const next = (vmi?.evacuation?.attempt ?? 0) + 1;
  if (migration === undefined || vmi?.uid !== migration.vmi || next > migration.attempt) return NOTHING;
  if (next < migration.attempt) return deferred('its earlier migrations are no longer known');
  const message = whyNot(input, pool, vm);
  return message === null ? { need: 'act', vmi } : deferred(message);
}

const isActiveIn = ({ metadata }: StoredPool, vm: VmView): boolean =>
  isOwnedBy(vm, 'VirtualMachinePool', metadata) && isActive(vm);

function whyNot(input: Omit<RecheckInput, 'toStep'>, pool: StoredPool, vm: VmView): string | null {
  if (input.item.vmi !== undefined && !restartsOnChange(pool) && !restartsForPods(pool))
    return 'its pool does not restart VMs for changed content';
  const stop = batchStop(pool, input, input.now);
  if (stop !== null) return stop.message;
  // Healing may take a VM that its batch has not begun with.
  if (pool.status?.healing?.cycles.some(({ uid }) => uid === vm.uid) === true) return 'it is being healed';
  return whyNotNow(vm, liveVmi(input.vmi))?.message ?? null;
}

/** Returns why more is planned for the VM than it needs now; null if it needs that. */
export function whyExcessive(
  { act }: BatchVm,
  need: UpdateNeed,
  { spec }: StoredPool,
  restarts: VmiView | null = null,
): string | null {
  if (need.need === 'deferred' || need.need === 'excluded') return need.message;
  const needed = need.need === 'act' ? need.act : null;
  if (act === 'migrate') return needed === act ? null : 'it no longer needs a migration';
  if (needed === null) return 'it no longer needs an update';
  if (act === 'replace' && needed !== act) return 'it no longer needs to be replaced';
  if (restarts === null || needed === 'restart' || needed === 'replace') return null;
  // Workers may know more or less of what can be done live, but all know what the pool allows.
  const rules = updateRules(spec.updateStrategy);
  const mayRestart = needed === 'live' && rules.kind === 'proactive' && !exceeds('Restart', rules.disruption);
  return mayRestart ? null : 'it no longer needs a restart';
}
