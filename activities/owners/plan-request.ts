import type { RolloutStatus } from '../../api/pool/pool.ts';
import type { RefusedEvacuation } from '../../decisions/drain/refusals.ts';
import type { CompactStatus } from '../../decisions/healing/conditions.ts';
import type { HealingState } from '../../decisions/healing/state.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { MembersReport } from '../../decisions/membership/change.ts';
import type { ToldBatch } from '../../decisions/owners/batch.ts';
import type { Backoffs } from '../../decisions/owners/failures.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import type { DeferredVm } from '../../decisions/rollout/state/deferred.ts';
import type { PoolKey } from './owner-key.ts';

export interface PlanRequest {
  namespace: string;
  name: string;
  minVersions: ResourceVersions;
  /** Whether something may have been done since without being reported: only a new list can tell. */
  resultUnknown: boolean;
  inProgress: {
    creating: string[];
    deleting: string[];
    cancelled?: string[];
    evacuating?: string[];
    standby?: string[];
  };
  /** What earlier failures leave to this plan. */
  backoffs: Backoffs;
  /** What was refused of evacuations; absent if nothing was. */
  refusals?: RefusedEvacuation[];
  /** What has become of a request about the pool's members; absent if nothing is known. */
  membership?: MembersReport;
  /** Others write the status of the pool, too; absent if not. */
  isContended?: true;
  /** Writes of the newest status that the workflow knows of; absent if unknown. */
  writes?: number;
  rollout: RolloutStatus | null;
  batches: ToldBatch[];
  /** VMs that batches have given back for reasons of their own; absent if there are none. */
  deferred?: DeferredVm[];
  healing: HealingState | null;
  /** Milliseconds since the epoch. */
  batchesNotBefore: number;
  /**
   * The workflow's clock, in milliseconds since the epoch: it also measures the times that the workflow is asked to
   * wait for.
   */
  now: number;
}

/** The worker that was to plan has not been told the VMs of a batch: it wants to be asked again, with all of them. */
export interface ToldTooLittle {
  untold: true;
}

/** `generation` is that of the spec that the plan was made for. */
export type Planned =
  | { gone: true }
  | ({
      gone: false;
      key: PoolKey;
      generation: number;
      minVersions: ResourceVersions;
      status: CompactStatus | null;
      /** Writes of the status that the plan has seen; absent in older histories. */
      writes?: number;
    } & Omit<PoolPlan, 'status'>);
