import { defineQuery } from '@temporalio/workflow';
import type { RolloutStatus } from '../api/pool/pool.ts';
import type { CycleNews, Hold, Verdict } from '../decisions/healing/state.ts';
import type { Seen } from '../decisions/lib/resource-versions.ts';
import type { TransitionProgress } from '../decisions/machine-types/transition.ts';
import type { FailedRestart } from '../decisions/restarts/size.ts';
import type { PassedOver } from '../decisions/runs/skipped.ts';
import type { Steered } from '../decisions/runs/user-request.ts';
import {
  asking,
  askingOf,
  batchEnd,
  cycleTold,
  healHolding,
  nothing,
  promoting,
  seen,
  verdict as verdictTold,
  type BatchEnd,
  type Asking,
  type AskingOf,
} from './payloads.ts';
import { bareSignalOf, signalOf } from './signals.ts';

/** Everything that speaks to drover's workflows takes their ids, signals and queries from here. */

export interface PoolRef {
  cluster: string;
  namespace: string;
  name: string;
}

export const taskQueueOf = (cluster: string): string => `drover/${cluster}`;
/**
 * Of activities that only wait for VMs, and of the one that watches the cluster: none of the others can take their
 * places, or they theirs.
 */
export const waitQueueOf = (taskQueue: string): string => `${taskQueue}/wait`;
export const watchQueueOf = (taskQueue: string): string => `${taskQueue}/watch`;
export const watchIdOf = (cluster: string): string => `watch/${cluster}`;
export const poolIdOf = ({ cluster, namespace, name }: PoolRef): string => `pool/${cluster}/${namespace}/${name}`;
export const healVmIdOf = (ref: PoolRef, vm: string): string => `${poolIdOf(ref)}/heal/${vm}`;
export const updateBatchIdOf = (ref: PoolRef, revision: string, n: number): string =>
  `${poolIdOf(ref)}/update/${revision}/${n}`;
/** `id` is a few letters and digits, which people type. */
export const restartIdOf = (cluster: string, id: string): string => `restart/${cluster}/${id}`;
/** `id` is a few letters and digits, which people type. */
export const transitionIdOf = (cluster: string, id: string): string => `machine-types/${cluster}/${id}`;

/**
 * Something happened to the pool or to one of its VMs: look again. It carries no state, so that one may stand for many,
 * only how new the picture must be that is looked at.
 */
export const changed = bareSignalOf<Seen>('changed', seen);

/** Begins no further batch until `resume`; what restarts already comes back. */
export const pause = bareSignalOf<Asking>('pause', asking);
/** Ends a pause, and lets a rollout go on that has failed or was aborted. */
export const resume = bareSignalOf<Asking>('resume', asking);
/** Ends the rollout of the newest template where it stands: its VMs stay as they are. */
export const abort = bareSignalOf<Asking>('abort', asking);
/** Passes the step at which the rollout waits, or with `full` all of them. */
export const promote = bareSignalOf<Asking & { full?: boolean }>('promote', promoting);

/** A batch to its pool: how it ended for each of its VMs. */
export const batchEnded = signalOf<BatchEnd>('batchEnded', batchEnd);
/** A pool to its batch: another revision takes its place, and its VMs are waited for no longer. */
export const supersede = bareSignalOf<void>('supersede', nothing);

/** To a pool: begins no further replacement of a VM, and lets none go on, until `healResume`. */
export const healPause = bareSignalOf<Asking>('healPause', asking);
export const healResume = bareSignalOf<Asking>('healResume', asking);

/**
 * To a pool, or to the cycle of one VM: do not wait with its healing. A pool heals it again where it was given up or
 * skipped.
 */
export const healNow = bareSignalOf<AskingOf>('healNow', askingOf);
/** To a pool, or to the cycle of one VM: leave it as it is. */
export const healSkip = bareSignalOf<AskingOf>('healSkip', askingOf);

/** A pool to a cycle: what has become of its VM. */
export const verdict = signalOf<Verdict>('verdict', verdictTold);
/** A pool to a cycle: what it may do. With `report` the cycle tells how it stands. */
export const healHold = signalOf<{ hold: Hold; report?: boolean }>('healHold', healHolding);
/** A cycle to its pool. */
export const cycleNews = signalOf<CycleNews>('cycleNews', cycleTold);

/** A failure as a person reads it. */
export interface Trouble {
  /** RFC 3339. */
  time: string;
  reason: string;
  message: string;
}

export interface PoolProgress {
  /** VMs whose creation, deletion or release is under way in this moment, by name. */
  creating: string[];
  deleting: string[];
  /** A sentence for each thing that is done or waited for now: steps, batches, healing cycles, VMs that come up. */
  doing: string[];
  /** Newest last, ten at most. */
  troubles: Trouble[];
  /** When the next try after a failure is due; RFC 3339. */
  retryAt: string | null;
  /** VMs that updates have in hand, by batch. */
  updating: { n: number; revision: string; vms: string[] }[];
  /** How the rollout stands; null before the first look. */
  rollout: RolloutStatus | null;
}

export const progress = defineQuery<PoolProgress>('progress');

/** `Failed`: VMs have failed; where they were too many, the others were left as they are. */
export type RestartPhase = 'Restarting' | 'Paused' | 'Complete' | 'Failed' | 'Aborted';

/** VMs are named by `namespace/name`. */
export interface RestartProgress extends Steered {
  phase: RestartPhase;
  /** How many VMs are to be restarted. */
  chosen: number;
  /** How many of them at a time. */
  maxUnavailable: number;
  /** More failures than that of VMs that were ready before have stopped it. */
  maxFailures: number;
  askedBy: string;
  reason: string | null;
  /** Seen to be ready again with another guest. */
  restarted: string[];
  failed: FailedRestart[];
  inHand: string[];
  /**
   * How many are still to be restarted; those that nobody may disrupt, have another guest already or don't run are not.
   */
  open: number;
  passedOver: PassedOver[];
  /** Budgets that are full, and what fills them, so that others wait. */
  full: string[];
}

export const restartProgress = defineQuery<RestartProgress>('progress');

export const transitionProgress = defineQuery<TransitionProgress>('progress');
