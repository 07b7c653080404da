import { CAPS } from '../../api/lib/caps.ts';
import type { NotRetried } from '../../decisions/machine-types/not-retried.ts';
import { NO_COUNTS, type TransitionProgress } from '../../decisions/machine-types/transition.ts';
import type { FailedVm } from '../../decisions/runs/progress.ts';
import type { Skipped } from '../../decisions/runs/skipped.ts';
import type { RunState } from '../runs/run.ts';

/** The part of the progress that is kept as it is reported. */
export const KEPT = [
  'results',
  'counts',
  'patched',
  'restarted',
  'failed',
  'full',
  'maxRestarts',
  'paused',
  'aborted',
  'startedAt',
] as const satisfies readonly (keyof TransitionProgress)[];

/**
 * Plain data: each run hands it to the next. Holds only VMs in flight and failed VMs; everything else is in the
 * cluster.
 */
export interface TransitionState extends RunState, Pick<TransitionProgress, (typeof KEPT)[number] | 'skipped'> {
  failed: (FailedVm & NotRetried)[];
  /** The latest VMs that another client changed just before drover could. */
  changed: string[];
  /** How many calls of the activity that restarts VMs have told what they did. */
  turn: number;
}

/** Reports whether no more failures are remembered: so many end the transition. */
export const isFullOf = (failed: readonly FailedVm[]): boolean => failed.length > CAPS.transitionFailures;

/** Returns the state of a transition that begins. */
export const begun = (): TransitionState => ({
  results: [],
  counts: NO_COUNTS,
  patched: 0,
  restarted: 0,
  failed: [],
  changed: [],
  inProgress: [],
  skipped: [],
  full: [],
  maxRestarts: 1,
  paused: null,
  aborted: null,
  digest: null,
  watchedSince: Date.now(),
  turn: 0,
  startedAt: new Date(Date.now()).toISOString(),
  minVersions: {},
  namespaces: [],
  acts: [],
});

/** Lists VMs that another client changed just before drover could, as skipped. */
export const changedMeanwhile = (vms: readonly string[]): Skipped[] =>
  vms.length === 0
    ? []
    : [{ message: 'its machine type was changed meanwhile', isExcluded: true, count: vms.length, vms: [...vms] }];

/**
 * Reports whether drover itself has something to do. False if all that is left waits for others: owners, pools, a
 * budget or a window.
 */
export const isAtWork = ({ counts, inProgress, full, digest }: TransitionState): boolean =>
  digest === null || inProgress.length > 0 || counts.toPatch > 0 || (counts.toRestart > 0 && full.length === 0);
