import type { PoolStatus } from '../../api/pool/pool.ts';
import { isUnderWay } from '../../decisions/rollout/state/state.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';

const BUSY_MS = 1_000;

/**
 * Returns the least time between two plans of an owner, in milliseconds. While VMs are updated, are sick, or are to
 * leave their nodes, each of their changes would cause a plan, and few of these find anything to do.
 */
export function leastMsBetweenPlans(owner: StoredPool | StoredSet | undefined): number {
  const { rollout, healing, draining = [] }: Partial<PoolStatus> = owner?.status ?? {};
  const isRollingOut = rollout !== undefined && isUnderWay(rollout);
  const areSick = healing !== undefined && healing.cycles.length + (healing.notReplaced?.length ?? 0) > 0;
  return isRollingOut || areSick || draining.length > 0 ? BUSY_MS : 0;
}
