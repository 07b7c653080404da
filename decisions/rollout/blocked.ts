import type { RolloutStatus } from '../../api/pool/pool.ts';
import type { RolloutContext } from './context.ts';

/**
 * Returns when a rollout held up by VMs that are down will have waited for `progressDeadlineSeconds`, in milliseconds
 * since the epoch. Null while something in progress may free the disruption budget: a batch, healing, or a VM that is
 * still to be created.
 */
export function blockedAt(context: RolloutContext, names: ReadonlySet<string>, state: RolloutStatus): number | null {
  const { batches, isHealed, busy } = context.input;
  if (batches.length > 0 || names.size === 0) return null;
  const holding = context.active.filter(({ name }) => names.has(name));
  if (holding.length < names.size || holding.some((vm) => isHealed(vm) || busy.has(vm.name))) return null;
  const { startedAt, resumedAt, halted } = state;
  const since = [startedAt, resumedAt, halted?.at].map((time) => (time === undefined ? 0 : Date.parse(time)));
  const down = holding.map(({ notReadySince, createdAt }) => notReadySince ?? createdAt);
  return Math.max(...since, ...down) + context.spec.rollout.progressDeadlineSeconds * 1000;
}
