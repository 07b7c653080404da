import { defineQuery } from '@temporalio/workflow';
import type { Act } from '../../decisions/history/act.ts';
import type { OperationProgress } from '../../decisions/operations/action-report.ts';
import {
  requestPayload,
  attemptEnd,
  attemptWaits,
  batchEnd,
  childEnd,
  nothing,
  look,
  type BatchEnd,
  type ChildEnd,
  type RequestPayload,
  type AttemptEnded,
  type AttemptWaits,
  type Look,
} from './payloads.ts';
import { bareSignalOf, signalOf } from './signals.ts';

/** The ids, signals and queries of drover's workflows, for every caller. */
export {
  healVmIdOf,
  operationIdOf,
  ownerIdOf,
  poolIdOf,
  poolOfChild,
  portionOfQueue,
  queueOfObject,
  scheduleIdOf,
  taskQueueOf,
  updateBatchIdOf,
  waitQueueOf,
  watchIdOf,
  watchQueueOf,
  type OperationKey,
  type PoolRef,
} from './ids.ts';

/**
 * Something happened to the pool or set, or to one of its VMs: look again. Carries no state, so that one signal may
 * stand for many; only the resource versions that the look must have seen, and perhaps on which task queue it belongs.
 */
export const changed = bareSignalOf<Look>('changed', look);

/**
 * To a pool's rollout: begins nothing more until `resume`; VMs in progress will finish. Users may send it
 * and `resume` from Temporal's Web UI, and scripts may.
 */
export const pause = bareSignalOf<RequestPayload>('pause', requestPayload);
/** Ends a pause by `pause`. All else that users ask of a pool is an annotation of it, which Kubernetes has checked. */
export const resume = bareSignalOf<RequestPayload>('resume', requestPayload);

/** From a batch to its pool: the outcome for each of its VMs. */
export const batchEnded = signalOf<BatchEnd>('batchEnded', batchEnd);
/** From a pool to its batch: another revision takes its place, so it stops waiting for its VMs. */
export const supersede = bareSignalOf<void>('supersede', nothing);

/** From an attempt to its pool: the unhealthy VM is gone, and the delay has begun. */
export const attemptWaiting = signalOf<AttemptWaits>('attemptWaiting', attemptWaits);
/** From an attempt to its pool, as its last act: the outcome. */
export const attemptEnded = signalOf<AttemptEnded>('attemptEnded', attemptEnd);

/** To a pool: one of its batches or attempts was ended from outside. */
export const childLost = signalOf<ChildEnd>('childLost', childEnd);

/** A failure, described for users. */
export interface RecentError {
  /** RFC 3339. */
  time: string;
  reason: string;
  message: string;
}

export interface PoolProgress {
  /** Names of VMs that are being created, deleted or released right now. */
  creating: string[];
  deleting: string[];
  /** A sentence for each thing in progress or waited for: steps, batches, healing cycles, starting VMs. */
  doing: string[];
  /** Newest last, ten at most. */
  recentErrors: RecentError[];
  /** When the next retry after a failure is due; RFC 3339. */
  retryAt: string | null;
  /** VMs that updates have in flight, by batch. */
  updating: { n: number; revision: string; vms: string[] }[];
}

/** What the workflow has recorded of what it did. Its result tells the same, if it has one. */
export const acts = defineQuery<Act[]>('acts');

export const progress = defineQuery<PoolProgress>('progress');

export type ReplicaSetProgress = Omit<PoolProgress, 'updating'>;

export const replicaSetProgress = defineQuery<ReplicaSetProgress>('progress');

/** Null before the operation begins. */
export const operationProgress = defineQuery<OperationProgress | null>('progress');
