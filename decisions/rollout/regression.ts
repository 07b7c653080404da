import type { RolloutStatus } from '../../api/pool/pool.ts';
import { isActive } from '../health/availability.ts';
import type { Batch } from '../owners/batch.ts';
import type { VmView } from '../views/vm.ts';
import { reservedNames } from './reserved-names.ts';
import type { RolloutContext } from './state/context.ts';
import { withOverdue } from './state/overdue.ts';
import { withFailures } from './state/state.ts';

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

/** A batch is considered lost when it has reported nothing for this long after its deadline. */
const LOST_AFTER_MS = 15 * 60_000;

/**
 * Whether the batch says nothing more. Batches that continue say so every 10 minutes; batches that replace VMs may be
 * silent until the deadline.
 */
export const isLost = (
  { spec, input }: RolloutContext,
  { startedAt, heardAt = startedAt, endedOutside = false }: Batch,
): boolean => endedOutside || heardAt + spec.rollout.progressDeadlineSeconds * 1000 + LOST_AFTER_MS <= input.now;

/**
 * Counts VMs as failures that a lost batch has deleted, and that are not there again: the pool makes them, perhaps of
 * the revision before, and other batches would begin the same with the next. Its other VMs come up by themselves.
 */
export function withUnmade(context: RolloutContext, state: RolloutStatus): RolloutStatus {
  const isThere = new Set(context.input.vms.filter(isActive).map(({ name }) => name));
  return context.input.batches.reduce((before, batch) => {
    const unmade = batch.vms.filter(({ act, name }) => act === 'replace' && !isThere.has(name));
    if (batch.superseded === true || unmade.length === 0 || !isLost(context, batch)) return before;
    const message = 'its batch was ended before it was made again';
    const failures = unmade.map(({ name: vm }) => ({ vm, message, at: context.now }));
    return withFailures(before, batch.revision, failures);
  }, state);
}
