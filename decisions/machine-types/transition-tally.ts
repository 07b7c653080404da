import { CAPS } from '../../api/lib/caps.ts';
import { pick } from '../lib/json.ts';
import type { PowerOutcome } from '../power/outcome.ts';
import { addFailure } from '../runs/failures.ts';
import type { FailedVm } from '../runs/progress.ts';
import type { Skipped } from '../runs/skipped.ts';
import type { NotRetried } from './not-retried.ts';
import type { Transition, TransitionProgress } from './transition.ts';

const KEPT = ['results', 'patched', 'restarted', 'maxRestarts', 'startedAt'] as const;

/** What has become of the VMs of a transition: plain data. */
export interface TransitionTally extends Pick<TransitionProgress, (typeof KEPT)[number]> {
  failed: (FailedVm & NotRetried)[];
  /** The latest VMs that another client changed just before drover could. */
  changed: string[];
}

export const TALLIED = [...KEPT, 'failed', 'changed'] as const satisfies (keyof TransitionTally)[];

/**
 * `failed`: those of an earlier run of the operation. Its status does not say which could not even be changed, so that
 * these count, too.
 */
export const newTally = (startedAt: string, failed: readonly FailedVm[] = []): TransitionTally => ({
  results: [],
  patched: 0,
  restarted: 0,
  failed: failed.map((one) => ({ ...one, wasAvailable: one.wasDown !== true })),
  changed: [],
  maxRestarts: 1,
  startedAt,
});

/** Reports whether no more failures are remembered: so many end the transition. */
export const isFullOf = (failed: readonly FailedVm[]): boolean => failed.length > CAPS.transitionFailures;

/** Adds what has become of a VM that was to be restarted. */
export function addOutcome(tally: TransitionTally, { vm, uid, end, message = '', since, wasDown }: PowerOutcome): void {
  if (end === 'Restarted') tally.restarted++;
  if (end !== 'Failed') return;
  addFailure(tally.failed, {
    vm,
    message,
    ...(uid !== undefined && { uid }),
    ...(wasDown === true && { wasDown }),
    wasAvailable: since !== undefined && wasDown !== true,
  });
}

/** How many more VMs may fail in their restarts that were ready before. */
export const mayFail = (tally: TransitionTally, { maxFailures }: Transition): number =>
  maxFailures - tally.failed.filter(({ wasAvailable }) => wasAvailable).length;

type InProgress = Pick<
  TransitionProgress,
  'phase' | 'transition' | 'counts' | 'full' | 'skipped' | 'inProgress' | 'paused' | 'aborted'
>;

export const transitionProgress = (tally: TransitionTally, now: InProgress): TransitionProgress => ({
  action: 'MachineType',
  ...pick(tally, [...KEPT, 'failed']),
  ...now,
  failures: tally.failed.length,
  skipped: [...now.skipped, ...changedMeanwhile(tally.changed)],
});

/** Lists VMs that another client changed just before drover could, as skipped. */
const changedMeanwhile = (vms: readonly string[]): Skipped[] =>
  vms.length === 0
    ? []
    : [{ message: 'its machine type was changed meanwhile', isExcluded: true, count: vms.length, vms: [...vms] }];

/**
 * Reports whether drover itself has something to do. False if all that is left waits for others: owners, pools, a
 * budget or a window.
 */
export const isAtWork = ({
  counts,
  inProgress,
  full,
}: Pick<TransitionProgress, 'counts' | 'full'> & { inProgress: readonly unknown[] }): boolean =>
  inProgress.length > 0 || counts.toPatch > 0 || (counts.toRestart > 0 && full.length === 0);
