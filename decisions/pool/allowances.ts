import type { HealingPlan } from '../healing/plan.ts';
import type { HealingState } from '../healing/state.ts';
import { membershipChangeOf } from '../membership/change.ts';
import { isRestoring } from '../membership/restore.ts';
import type { Returned } from '../membership/returned.ts';
import { planMembership } from '../requests/membership.ts';
import { promotedAhead } from '../standby/standby.ts';
import type { PoolPlanInput } from './plan-input.ts';

/** Returns the input with VMs that are being promoted counted as replicas. */
export const prepared = (given: PoolPlanInput): PoolPlanInput => ({
  ...given,
  vms: promotedAhead(given.vms, given.inProgress.creating),
});

/** Returns the input with nothing in flight allowed while members change, or come back. */
export const limited = (input: PoolPlanInput): PoolPlanInput => (isHeld(input) ? { ...input, burst: 0 } : input);

/**
 * Whether the pool's members change, because somebody asks for it or by a restore: until that has ended, the pool
 * begins nothing.
 */
export const isHeld = (input: PoolPlanInput): boolean =>
  input.pool.metadata.deletionTimestamp === undefined &&
  (membershipChangeOf(input.pool) !== null || planMembership(input).steps.length > 0 || isRestoring(input.pool));

/** Returns a plan that leaves healing as it is. */
export const healingAsItIs = (state: HealingState): HealingPlan => ({
  state,
  begin: [],
  cancel: [],
  events: [],
  mark: [],
  suspended: null,
  notReplaced: [],
  notListed: 0,
  wakeAt: null,
});

/** Returns the input as if the VMs that come back were being created: no others are made in their places. */
export const withReturned = (
  { inProgress, ...input }: PoolPlanInput,
  { replicas, standby }: Returned,
): PoolPlanInput => ({
  ...input,
  inProgress: {
    ...inProgress,
    creating: [...inProgress.creating, ...replicas],
    standby: [...(inProgress.standby ?? []), ...standby],
  },
});
