import type { RolloutStatus } from '../../api/pool/pool.ts';
import type { StatusTold } from '../../decisions/healing/conditions.ts';
import type { HealingState } from '../../decisions/healing/state.ts';
import type { Seen } from '../../decisions/lib/resource-versions.ts';
import type { PoolPlanInput } from '../../decisions/pool/plan-input.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import type { Failure } from '../../decisions/pool/status.ts';
import type { Batch } from '../../decisions/rollout/batch.ts';

/** A pool, and which one of that name: what is done for it is not done for a later one. */
export interface PoolKey {
  namespace: string;
  name: string;
  uid: string;
}

export interface PlanRequest {
  namespace: string;
  name: string;
  seen: Seen;
  /** Something may have been done since that nobody has told: only a new list can say. */
  inDoubt: boolean;
  underWay: { creating: string[]; deleting: string[] };
  /** VMs that may be created now; the burst cap holds besides. */
  allowance: number | null;
  refused?: PoolPlanInput['refused'];
  failure: Failure | null;
  rollout: RolloutStatus | null;
  batches: Batch[];
  healing: HealingState | null;
  /** Milliseconds since the epoch. */
  batchesNotBefore: number;
  /** The workflow's clock, in milliseconds since the epoch: what it is told to wait for is measured by it. */
  now: number;
}

/**
 * What drover 0.1.0 planned, as it stands in the histories of workflows that began under it, says nothing of rollouts
 * and healing.
 */
type Told = Omit<PoolPlan, 'rollout' | 'healing' | 'wakeAt' | 'status'> & { status: StatusTold | null } & Partial<
    Pick<PoolPlan, 'rollout' | 'healing' | 'wakeAt'>
  >;

/** `generation` is that of the spec that the plan was made for. */
export type Planned = { gone: true } | ({ gone: false; key: PoolKey; generation: number; seen: Seen } & Told);

export interface Refused {
  reason: string;
  message: string;
  /** Names of the VMs that were refused; others may have been given up for it. */
  names?: string[];
  /** It concerns all, as a full quota does, or looks as if it did. */
  isGeneral?: boolean;
}

/** What an activity has done to VMs. */
export interface Done {
  count: number;
  /** Names that turned out to be somebody else's. */
  taken: string[];
  /** Names of VMs of which the pool, when it was asked again, did not want it any more. */
  notWanted: string[];
  /** Why the API server would not have the rest: quota, permission, an invalid template. */
  refused: Refused | null;
  seen: Seen;
}

export interface HowToCreate {
  /** Of the pool's spec when it was planned; left out where VMs take the places of others. */
  generation?: number;
  atBreadth?: boolean;
  halted?: number[];
}
