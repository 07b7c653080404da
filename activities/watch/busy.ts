import { isUnderWay } from '../../decisions/rollout/state/state.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';

const BUSY_MS = 1_000;

/**
 * Returns the least time between two plans of an owner, in milliseconds: each change of a VM would cause one while
 * batches of their own update VMs.
 */
export function leastMsBetweenPlans(owner: StoredPool | StoredSet | undefined): number {
  if (owner === undefined) return 0;
  const { status } = owner;
  const rollout = status !== undefined && 'rollout' in status ? status.rollout : undefined;
  const isRollingOut = rollout !== undefined && isUnderWay(rollout);
  return isRollingOut ? BUSY_MS : 0;
}
