import type { HealingPlan } from '../healing/plan.ts';
import { stateFrom } from '../healing/state.ts';
import { membershipChangeOf } from '../membership/change.ts';
import { promotedAhead, withAllowances } from '../standby/standby.ts';
import type { PoolPlanInput } from './plan-input.ts';

/** Input with an allowance for standby VMs, and no allowance at all while members change. */
export type Prepared = PoolPlanInput & { standbyAllowance: number };

/** Returns the input with VMs that are being promoted counted as replicas, and with the current allowances. */
export function prepared(given: PoolPlanInput): Prepared {
  const input = { ...withAllowances(given), vms: promotedAhead(given.vms, given.inProgress.creating) };
  return isHeld(given) ? { ...input, allowance: 0, standbyAllowance: 0 } : input;
}

/** Whether a command is changing the pool's members: until that has ended, the pool begins nothing. */
export const isHeld = ({ pool }: PoolPlanInput): boolean =>
  pool.metadata.deletionTimestamp === undefined && membershipChangeOf(pool) !== null;

/** Returns a plan that leaves healing as it is. */
export const healingAsItIs = ({ healing, pool }: PoolPlanInput): HealingPlan => ({
  state: healing ?? stateFrom(pool.status?.healing),
  begin: [],
  cancel: [],
  events: [],
  mark: [],
  suspended: null,
  notReplaced: [],
  notListed: 0,
  wakeAt: null,
});
