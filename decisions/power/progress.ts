import { CAPS } from '../../api/lib/caps.ts';
import { pick } from '../lib/json.ts';
import { addFailure } from '../runs/failures.ts';
import { withIndex } from '../runs/index-set.ts';
import { OVER, type FailedVm, type RunProgress, type RunOutline } from '../runs/progress.ts';
import { because, formatCounts, formatPace, formatVms } from '../runs/report.ts';
import { withSkipped, type Skipped } from '../runs/skipped.ts';
import type { ChangeNeed } from '../views/annotations/recorded-change.ts';
import { ACTION_LABELS, type PowerAction, type PowerDoing } from './action.ts';
import type { PowerOutcome } from './outcome.ts';

/**
 * `Checking`, `Refused`: a change is tried in dry runs, before the first write. `Failed`: VMs have failed; if they were
 * too many, the others were left as they are.
 */
type PowerPhase = PowerDoing | 'Checking' | 'Refused' | 'Paused' | 'Complete' | 'Failed' | 'Aborted';

/** VMs are named by `namespace/name`. */
export interface PowerProgress extends RunProgress {
  action: PowerAction;
  phase: PowerPhase;
  /** How many VMs were chosen. */
  chosen: number;
  /** How many of them may be starting or stopping at once; of a restart, how many may be unready at once. */
  atOnce: number;
  /** More failures than this, of VMs that were not down before, end the run. */
  maxFailures: number;
  requestedBy: string;
  reason: string | null;
  /** How many VMs were seen to have stopped, or to be ready; after a restart, with another VMI. */
  done: number;
  /** How many have failed: `failed` names the newest. */
  failures: number;
  /** How many of these were not ready before either. */
  wereDown: number;
  /** How many VMs still need something, without VMs that may not be touched. */
  open: number;
  /** How many of those done are changed, and need more until that has its whole effect. */
  needs: Needs;
}

type Needs = Partial<Record<Exclude<ChangeNeed, 'Nothing'>, number>>;

const COUNTED = ['done', 'failures', 'wereDown', 'failed', 'needs'] as const;

/** What has become of the VMs of a run: plain data. */
export interface PowerTally extends Pick<PowerProgress, (typeof COUNTED)[number]> {
  /** VMs that are left as they are, or in part, for what was seen when their turn came. */
  excluded: Skipped[];
  /** Which of the chosen VMs are not taken again: an index set. */
  ended: string;
}

export const TALLIED = [...COUNTED, 'excluded', 'ended'] as const satisfies (keyof PowerTally)[];

/** `failed`, `ended`: those of an earlier run of the operation. */
export const newTally = (failed: FailedVm[] = [], ended = ''): PowerTally => ({
  done: 0,
  failures: failed.length,
  wereDown: failed.filter(({ wasDown }) => wasDown === true).length,
  failed: [...failed],
  needs: {},
  excluded: [],
  ended,
});

/** Adds what has become of a VM. */
export function addOutcome(tally: PowerTally, action: PowerAction, outcome: PowerOutcome): void {
  const { vm, index, end, message = '', wasDown, need } = outcome;
  const { needs, failed } = tally;
  const isDone = end === ACTION_LABELS[action].done;
  if (isDone) tally.done++;
  if (isDone && need !== undefined) needs[need] = (needs[need] ?? 0) + 1;
  if (end === 'Left') tally.excluded = withSkipped(tally.excluded, vm, message);
  if (index !== undefined) tally.ended = withIndex(tally.ended, index);
  if (end !== 'Failed') return;
  tally.failures++;
  if (wasDown === true) tally.wereDown++;
  addFailure(failed, { vm, message, ...(wasDown === true && { wasDown }) });
  failed.splice(0, failed.length - CAPS.failureReasons);
}

type InProgress = Pick<PowerProgress, 'phase' | 'open' | 'skipped' | 'full' | 'inProgress' | 'paused' | 'aborted'>;

export const powerProgress = (
  input: Pick<PowerProgress, 'action' | 'atOnce' | 'maxFailures' | 'requestedBy' | 'reason'>,
  chosen: number,
  tally: PowerTally,
  now: InProgress,
): PowerProgress => ({
  ...pick(input, ['action', 'atOnce', 'maxFailures', 'requestedBy', 'reason']),
  chosen,
  ...pick(tally, COUNTED),
  ...now,
  skipped: [...now.skipped, ...tally.excluded],
});

export const isTripped = (
  { failures, wereDown }: Pick<PowerTally, 'failures' | 'wereDown'>,
  maxFailures: number,
): boolean => failures - wereDown > maxFailures;

export function powerOutline(progress: PowerProgress): RunOutline {
  const { action, phase, chosen, atOnce, maxFailures, requestedBy, reason, done, failures, inProgress } = progress;
  const doneAs = ACTION_LABELS[action].done.toLowerCase();
  return {
    numbers: {
      done,
      of: chosen,
      doneAs,
      others: formatCounts([
        [inProgress.length, 'in progress'],
        [toGo(progress), 'to go'],
        [failures, 'failed'],
      ]),
    },
    end: formatEnd(progress, doneAs),
    open: progress.open,
    isOver: OVER.has(phase),
    isTripped: isTripped(progress, maxFailures),
    maxFailures,
    failures,
    faults: [],
    about: [`${action} of ${formatPace(chosen, atOnce)}; requested by ${requestedBy}${because(reason)}`],
  };
}

/** Number of VMs still to be taken: all of them until the workflow has looked at them for the first time. */
function toGo({ phase, chosen, done, inProgress, open, failures, skipped }: PowerProgress): number {
  return !OVER.has(phase) && done + inProgress.length + failures + skipped.length + open === 0 ? chosen : open;
}

/** Why nothing was to be done to a VM. */
const NOTHING_TO_DO: Record<PowerAction, string> = {
  Start: 'they were already running, are deleted, or were stopped meanwhile',
  Stop: 'they were already stopped, are deleted, or were started meanwhile',
  Restart: 'stopped, deleted, or restarted meanwhile',
  Migrate: 'stopped, deleted, restarted, or migrated meanwhile',
  Patch: 'they had it already, or are deleted',
};

const NEEDS: Record<keyof Needs, string> = {
  Live: 'get it from KubeVirt while they run',
  Restart: 'need a restart before it takes effect',
  Start: 'get it at their next start',
};

const formatNeeds = (needs: Needs): string =>
  (Object.keys(NEEDS) as (keyof Needs)[])
    .flatMap((need) => (needs[need] === undefined ? [] : [`; ${needs[need]} ${NEEDS[need]}`]))
    .join('');

function formatEnd({ action, done, chosen, failures, open, skipped, needs }: PowerProgress, doneAs: string): string {
  const waiting = open + skipped.reduce((sum, { count, isExcluded }) => sum + (isExcluded ? count : 0), 0);
  const rest = chosen - done - failures - waiting;
  const others = rest === 0 ? '' : `; nothing to do for ${rest}: ${NOTHING_TO_DO[action]}`;
  return `${done} of ${formatVms(chosen)} ${doneAs}${formatNeeds(needs)}${others}`;
}
