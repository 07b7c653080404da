import { scaleInRules, standbyRules, type HealingRules } from '../../api/rules/pool-defaults.ts';
import { isReady, isActive } from '../health/availability.ts';
import type { NodeCounts } from '../health/node-outage.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import { removesSurplus } from '../scaling/surplus.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { AttemptRules } from './attempt.ts';
import { neverRan, type VmiHistory } from './never-ran.ts';
import type { Cycle, HealingState } from './state.ts';

export interface HealingInput extends Pick<PlanInput, 'pool' | 'vms' | 'vmiOf' | 'isVmNameTaken' | 'burst' | 'now'> {
  /** Known VMIs of a VM that ran and then failed, oldest first. */
  failedVmisOf: (vm: VmView) => readonly VmiView[];
  /** What was wrong with a VM's last failed VMI; null if unknown. */
  lastFailureOf: (vm: VmView) => string | null;
  /** What has become of all VMIs of a VM; null if this worker has not watched them since the VM's creation. */
  vmiHistoryOf: (vm: VmView) => VmiHistory | null;
  /** How many of all nodes do not answer. */
  nodeCounts: () => NodeCounts;
  state: HealingState;
  /** Names of VMs that are busy otherwise: in a batch, or being created or deleted. */
  busy: ReadonlySet<string>;
  /** UIDs of VMs that users want removed: they are not replaced. */
  named: ReadonlySet<string>;
  /** A revision with which no VM has become available yet: the rollout handles its failures, not healing. */
  unverified: string | null;
}

/** The input of the parts of a plan. */
export interface HealingView extends HealingInput {
  rules: HealingRules;
  minReadyMs: number;
  /** How long a new VM is watched while it neither fails nor becomes ready. */
  timeoutMs: number;
}

export const attemptRules = ({ backoff, maxAttempts }: HealingRules): AttemptRules => ({ backoff, maxAttempts });

/** False only if it is certain that no VMI of the VM has ever run. */
export function mayHaveData({ vmiOf, vmiHistoryOf, minReadyMs, now }: HealingView, vm: VmView): boolean {
  return neverRan({ vm, vmi: vmiOf(vm), vmiHistory: vmiHistoryOf(vm), minReadyMs, now }) === 'none';
}

/** True once a VM of the pool is known to run, or to have run: a later failure is hardly common to all VMs. */
export const hasEverRun = ({ vms, vmiOf }: HealingView): boolean =>
  vms.some((vm) => isReady(vm, vmiOf(vm)) || vm.notYetRun === null);

/** The role of the VMs that are healed: standby, or none. */
type HealedRole = Cycle['role'];

export const surplusByRole = (view: HealingView, state: HealingState): Map<HealedRole, number> =>
  new Map(([undefined, 'Standby'] as const).map((role) => [role, surplusOf(view, state, role)]));

/**
 * How many VMs of this role are still to be removed by scaling in. VMs being replaced count: they come back, unless
 * their cycles end. Under a strategy other than `proactive`, or outside of its windows, a pool keeps surplus VMs for
 * long, and an unhealthy VM among them is healed like any other.
 */
function surplusOf(
  { vms, pool: { spec }, named, now }: HealingView,
  { cycles }: HealingState,
  role: HealedRole,
): number {
  if (!removesSurplus(scaleInRules(spec.scaleInStrategy), now)) return 0;
  const active = new Set(
    vms.filter((vm) => vm.role === (role ?? null) && isActive(vm) && !named.has(vm.uid)).map(({ name }) => name),
  );
  const coming = cycles.filter((cycle) => cycle.role === role && !active.has(cycle.vm)).length;
  return active.size + coming - (role === undefined ? spec.replicas : standbyRules(spec).replicas);
}
