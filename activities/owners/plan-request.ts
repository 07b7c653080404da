import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { BatchInput } from '../../decisions/owners/batch.ts';
import type { PoolRun } from '../../decisions/pool/on-record.ts';
import type { PoolPlanInput } from '../../decisions/pool/plan-input.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import type { PoolKey } from './owner-key.ts';
import type { KnownStatus, StatusRequest } from './status.ts';

/**
 * What the workflow of a pool asks a worker to plan from. `now` is the workflow's clock: it also measures the times
 * that the workflow is asked to wait for.
 */
export interface PlanRequest
  extends
    StatusRequest,
    PoolRun,
    Pick<
      PoolPlanInput,
      'inProgress' | 'backoffs' | 'refusals' | 'membership' | 'isContended' | 'deferred' | 'batchesNotBefore' | 'now'
    > {
  namespace: string;
  name: string;
  minVersions: ResourceVersions;
  /** Whether something may have been done since without being reported: only a new list can tell. */
  resultUnknown: boolean;
  batches: BatchInput[];
}

/** The worker that was to plan has not been told the VMs of a batch: it wants to be asked again, with all of them. */
export interface IncompleteInput {
  incomplete: true;
}

/** `generation`: of the spec that the plan was made for. */
export type Planned =
  | { gone: true }
  | ({
      gone: false;
      key: PoolKey;
      generation: number;
    } & KnownStatus &
      Omit<PoolPlan, 'status'>);
