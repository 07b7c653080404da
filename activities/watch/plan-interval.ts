import type { PoolStatus } from '../../api/pool/pool.ts';
import { isUnderWay } from '../../decisions/rollout/state/state.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';

/** While VMs are unhealthy, or are to leave their nodes; and while they are updated, whose batches need no plan. */
const BUSY_MS = 1_000;
const ROLLOUT_MS = 1_500;

/**
 * Returns the least time between two plans of an owner, in milliseconds. While VMs are updated, are unhealthy, or are
 * to leave their nodes, each of their changes would cause a plan, and few of these find anything to do.
 */
export function leastPlanIntervalMs(owner: StoredPool | StoredSet | undefined): number {
  const { rollout, healing, draining = [] }: Partial<PoolStatus> = owner?.status ?? {};
  const areUnhealthy = healing !== undefined && healing.cycles.length + (healing.notReplaced?.length ?? 0) > 0;
  if (areUnhealthy || draining.length > 0) return BUSY_MS;
  return rollout !== undefined && (isUnderWay(rollout) || beginsAnother(owner as StoredPool)) ? ROLLOUT_MS : 0;
}

/** Whether the pool has a template that its status knows nothing of yet. */
const beginsAnother = ({ metadata, spec, status }: StoredPool): boolean =>
  status?.observedGeneration !== metadata.generation && status?.updateRevision !== revisionOf(poolTemplate(spec));
