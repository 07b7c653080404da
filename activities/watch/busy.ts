import { isUnderWay } from '../../decisions/rollout/state.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';

const BUSY_MS = 1_000;
/** Fewer VMs that come or go are not worth a status that is a second late. */
const MANY = 50;

/**
 * Returns the least time between two plans of an owner, in milliseconds: each change of a VM would cause one while
 * batches of their own update VMs, or many VMs come or go.
 */
export function leastMsBetweenPlans(owner: StoredPool | StoredSet | undefined): number {
  if (owner === undefined) return 0;
  const { spec, status } = owner;
  const rollout = status !== undefined && 'rollout' in status ? status.rollout : undefined;
  const isRollingOut = rollout !== undefined && isUnderWay(rollout);
  const isFarFromItsSize = Math.abs(spec.replicas - (status?.replicas ?? 0)) >= MANY;
  return isRollingOut || isFarFromItsSize ? BUSY_MS : 0;
}
