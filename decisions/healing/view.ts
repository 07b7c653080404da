import { scaleInRules, type HealingRules } from '../../api/pool-defaults.ts';
import { isReady, isStaying, type VmiOf } from '../disruption-budget/availability.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { proofOf, type Witness } from './proof.ts';
import { underWay, type HealingState, type SickVm } from './state.ts';

export interface HealingInput {
  pool: StoredPool;
  /** All VMs that the pool owns. */
  vms: readonly VmView[];
  vmiOf: VmiOf;
  /** Guests of a VM that ran and then failed, oldest first, as far as they are known. */
  failedVmisOf: (vm: VmView) => readonly VmiView[];
  /** What was the matter with the last guest of a VM that failed; null where it is not known. */
  lastTroubleOf: (vm: VmView) => string | null;
  /** What has become of all guests of a VM; null where this worker has not followed them since the VM was made. */
  witnessOf: (vm: VmView) => Witness | null;
  /** A VM of this name exists in the pool's namespace and is not the pool's. */
  isHeldByOther: (name: string) => boolean;
  state: HealingState;
  /** VMs in other hands, by name: of batches, and those that are being made or deleted. */
  busy: ReadonlySet<string>;
  /** A revision that no VM has run well of: its failures are the rollout's to judge. */
  unproven: string | null;
  /** VMs in flight at once at most. */
  burst: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/** What the parts of a plan look at. */
export interface HealingView extends HealingInput {
  rules: HealingRules;
  minReadyMs: number;
  /** How long a new VM is watched that neither fails nor becomes ready. */
  patienceMs: number;
}

export const cycleRules = ({ backoff, maxAttempts }: HealingRules): SickVm['rules'] => ({ backoff, maxAttempts });

/** True unless it is certain that no guest of the VM has ever run. */
export function holdsData({ vmiOf, witnessOf, minReadyMs, now }: HealingView, vm: VmView): boolean {
  return proofOf({ vm, vmi: vmiOf(vm), witness: witnessOf(vm), minReadyMs, now }) === 'none';
}

/** True once a VM of the pool is known to run, or to have run: what fails then is hardly common to all. */
export const hasProven = ({ vms, vmiOf }: HealingView): boolean =>
  vms.some((vm) => isReady(vm, vmiOf(vm)) || vm.notYetRun === null);

/**
 * How many VMs scaling in is still to take, those included that are being replaced: they come back, unless they are
 * told not to. Under another strategy than `proactive` a pool may have too many for good; a sick VM of these is healed
 * like any other.
 */
export function surplusOf({ vms, pool }: HealingView, { cycles }: HealingState): number {
  if (scaleInRules(pool.spec.scaleInStrategy).kind !== 'proactive') return 0;
  const staying = new Set(vms.filter(isStaying).map(({ name }) => name));
  const coming = underWay(cycles).filter(({ vm }) => !staying.has(vm)).length;
  return staying.size + coming - pool.spec.replicas;
}
