import type { RolloutStatus } from '../../api/pool/pool.ts';
import type { DisruptionBudget } from '../disruption-budget/budget.ts';
import { isDown } from '../health/availability.ts';
import type { VmView } from '../views/vm.ts';
import type { RolloutContext } from './state/context.ts';
import { deadlinesFrom } from './state/state.ts';
import type { SurgeShortage } from './surge/shortage.ts';

/** A disruption budget that is full, and why extra VMs are missing that would add to it; null if none is. */
export interface FullBudget {
  budget: DisruptionBudget;
  blockedBy: SurgeShortage | null;
}

/**
 * Returns when a rollout held up by VMs that are down, or by extra VMs that don't come up, will have waited for
 * `progressDeadlineSeconds`, in milliseconds since the epoch. Null while something in progress may free the disruption
 * budget: a batch, healing, or a VM that is still to be created.
 */
export function blockedAt(context: RolloutContext, full: FullBudget, state: RolloutStatus): number | null {
  const { budget, blockedBy } = full;
  const { names, count } = budget;
  const isOfNobody = names.size === 0 && blockedBy === null;
  if (context.input.batches.length > 0 || count > names.size || isOfNobody) return null;
  const down = downSinceOf(context, names);
  if (down === null || blockedBy?.since === null) return null;
  return (
    Math.max(deadlinesFrom(state), down, blockedBy?.since ?? 0) + context.spec.rollout.progressDeadlineSeconds * 1000
  );
}

/** Since when all these VMs have been down, with nothing being done about them; null if that is not so. */
function downSinceOf(context: RolloutContext, names: ReadonlySet<string>): number | null {
  const { isHealed, busy, vmiOf } = context.input;
  const blocking = context.active.filter(({ name }) => names.has(name));
  // One that is up counts because of what is done to it, or soon will be.
  const isAwaited = (vm: VmView): boolean => isHealed(vm) || busy.has(vm.name) || !isDown(vm, vmiOf(vm));
  if (blocking.length < names.size || blocking.some(isAwaited)) return null;
  return Math.max(0, ...blocking.map(({ notReadySince, createdAt }) => notReadySince ?? createdAt));
}
