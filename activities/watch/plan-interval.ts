import type { PoolStatus } from '../../api/pool/pool.ts';
import { isUnderWay } from '../../decisions/rollout/state/state.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';

/** While VMs are unhealthy, or are to leave their nodes. */
const BUSY_MS = 1_000;
/** While VMs are updated, whose batches need no plan; a plan takes some 0.05 ms a VM, so at most 5 % of a core. */
const ROLLOUT_MS = { least: 1_500, aVm: 1, most: 10_000 };

/**
 * Returns the least time between two plans of an owner, in milliseconds. While VMs are updated, are unhealthy, or are
 * to leave their nodes, each of their changes would cause a plan, and few of these find anything to do.
 */
export function leastPlanIntervalMs(owner: StoredPool | StoredSet | undefined): number {
  if (owner === undefined) return 0;
  const { rollout, healing, draining = [] }: Partial<PoolStatus> = owner.status ?? {};
  const areUnhealthy = healing !== undefined && healing.cycles.length + (healing.notReplaced?.length ?? 0) > 0;
  if (areUnhealthy || draining.length > 0) return BUSY_MS;
  if (rollout !== undefined && (isUnderWay(rollout) || beginsAnother(owner as StoredPool)))
    return Math.min(Math.max(ROLLOUT_MS.least, ROLLOUT_MS.aVm * owner.spec.replicas), ROLLOUT_MS.most);
  return 0;
}

/** Whether the pool has a template that its status knows nothing of yet. */
const beginsAnother = ({ metadata, spec, status }: StoredPool): boolean =>
  status?.observedGeneration !== metadata.generation && status?.updateRevision !== revisionOf(poolTemplate(spec));
