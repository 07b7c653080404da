import type { RolloutStatus } from '../../api/pool/pool.ts';
import type { VmView } from '../views/vm.ts';
import { reservedNames } from './reserved-names.ts';
import type { RolloutContext } from './state/context.ts';
import { withOverdue } from './state/overdue.ts';

/**
 * Counts VMs as failures of the rollout that took the revision, became ready and then went down for too long: they use
 * up the disruption budget, so the rollout would wait for them forever. Skips VMs that were down before, and VMs in
 * healing: they come back, or are given up and only then count.
 */
export function withRegressions(context: RolloutContext, state: RolloutStatus): RolloutStatus {
  const { vms, batches, isHealed } = context.input;
  const { reserved } = reservedNames(batches, vms, () => false);
  const downSince = (vm: VmView, revision: string): number | null =>
    isHealed(vm) || reserved.has(vm.name) || !context.isOf(vm, revision) ? null : wentDownAt(vm, state);
  return withOverdue(context, state, { vms: context.active, downSince, what: 'it was updated' });
}

/** Returns since when a VM that went down during the rollout counts as down; null if it was down before. */
function wentDownAt({ notReadySince }: VmView, { startedAt, halted, resumedAt }: RolloutStatus): number | null {
  // KubeVirt's times are whole seconds.
  const beganAt = Math.floor(Date.parse(halted?.at ?? startedAt) / 1000) * 1000;
  if (notReadySince === null || notReadySince < beganAt) return null;
  return resumedAt === undefined ? notReadySince : Math.max(notReadySince, Date.parse(resumedAt));
}
