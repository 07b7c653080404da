import { because, formatCounts, formatRequest } from '../../decisions/runs/report.ts';
import { ageOf, TONES } from '../cli/print.ts';
import { formatRevision } from '../pool/revisions.ts';
import type { NamedRevision, RolloutView } from '../pool/view.ts';
import { stateLines, whenOf, type Now, type Shown } from '../runs/run-lines.ts';

/** Describes the rollout without the numbers of its VMs: its state and why, who paused it, what failed, its step. */
export const rolloutLines = (view: RolloutView, now: Now): string[] => stateLines(shownRollout(view, now), now);

/**
 * As `rolloutLines`, but empty if there is nothing to say beyond that all VMs have the template, or if the pool is
 * pending or being deleted.
 */
export function noteworthyLines(view: RolloutView, now: Now): string[] {
  const { phase, failures, paused } = view;
  const isQuiet =
    phase === 'Pending' || phase === 'Deleting' || (phase === 'Complete' && failures.length === 0 && paused === null);
  return isQuiet ? [] : rolloutLines(view, now);
}

/** Returns the rollout as all is shown that acts on VMs. */
export function shownRollout(view: RolloutView, now?: Now): Shown {
  const { phase, end, message, paused, halted, failures } = view;
  const { replicas: of, updatedReplicas: done, readyReplicas, surgeReplicas } = view;
  const open = end === null || end === 'Blocked' ? of - done : 0;
  return {
    progress: {
      phase,
      failed: failures.map(({ message: own, ...rest }) => ({
        ...rest,
        message: message.includes(`: ${own}`) ? '' : own,
      })),
      inProgress: [],
      skipped: [],
      full: [],
      paused: paused && { ...paused, at: paused.at ?? '' },
      aborted: halted?.kind === 'Aborted' ? halted : null,
    },
    outline: {
      numbers: {
        done,
        of,
        doneAs: 'updated',
        others: [
          ...formatCounts([[open, 'to go']]),
          `${readyReplicas} ready`,
          ...formatCounts([[surgeReplicas, 'extra']]),
        ],
      },
      end: endOf(view),
      open,
      // A pause outlasts the rollout, and holds the next one.
      isOver: end !== null && paused === null,
      isTripped: false,
      maxFailures: 0,
      failures: failures.length,
      faults: [],
      about: [...stepLines(view, now), ...checkLines(view, now), ...changeLines(view, now), ...revisionLines(view)],
    },
    sentence: phase === 'Aborted' ? '' : sentenceOf(view),
    style: TONES[toneOf(view)],
  };
}

export function toneOf({ end, phase, paused }: RolloutView): keyof typeof TONES {
  if (end === 'Failed' || end === 'Blocked' || phase === 'Undoing') return 'bad';
  if (paused !== null || end === 'OutdatedVms' || phase.startsWith('Waiting')) return 'warn';
  return end === 'Complete' ? 'good' : 'busy';
}

function endOf({ phase, end, message, updatedReplicas, replicas }: RolloutView): string {
  const how = end === 'OutdatedVms' ? 'its updateStrategy leaves VMs to others;' : `the rollout is ${phase},`;
  return `${how} ${updatedReplicas} of ${replicas} VMs are updated${because(message === '' ? null : message)}`;
}

/** The revision that VMs come from, if the rollout has one and is not done with it. */
const fromOf = ({ target, current, end }: RolloutView): NamedRevision | null =>
  current === null || current.hash === target.hash || end === 'Complete' ? null : current;

const isNamed = (view: RolloutView): boolean =>
  fromOf(view) === null && view.message.includes(`revision ${view.target.hash}`);

/** The message, with the numbers of revisions in place of their hashes. */
function sentenceOf(view: RolloutView): string {
  const { target, message } = view;
  if (isNamed(view)) return message.replaceAll(`revision ${target.hash}`, `revision ${formatRevision(target)}`);
  const from = fromOf(view);
  return [target, ...(from === null ? [] : [from])].reduce(numbered, message);
}

const numbered = (message: string, { number, hash }: NamedRevision): string =>
  number === null ? message : message.replaceAll(`revision ${hash}`, `revision ${number}`);

/** Which revision is rolled out, and for whom; empty if the message names it and it is the only one. */
function revisionLines(view: RolloutView): string[] {
  if (isNamed(view)) return [];
  const { target, requestedBy, reason } = view;
  const from = fromOf(view);
  const revisions = `revision ${formatRevision(target)}${from === null ? '' : `, from ${formatRevision(from)}`}`;
  return [
    requestedBy === null ? revisions : `${revisions}; ${formatRequest('requested', { by: requestedBy, reason })}`,
  ];
}

function stepLines({ step, end, phase }: RolloutView, now: Now): string[] {
  if (step === null || (end !== null && end !== 'Blocked') || step.passed >= step.of) return [];
  // The message already names the step.
  if (step.reachedAt !== null && phase.startsWith('Waiting')) return [`reached ${whenOf(step.reachedAt, now)}`];
  const at = `step ${step.passed + 1} of ${step.of}`;
  return [
    step.reachedAt === null
      ? `on the way to ${at}`
      : `at ${at} ${now === undefined ? `since ${step.reachedAt}` : `for ${ageOf(step.reachedAt, now)}`}`,
  ];
}

/** What was last seen of the check of the step, and when it is looked at again. */
function checkLines({ check, end, paused }: RolloutView, now: Now): string[] {
  if (check === null) return [];
  const { what, holdsFor, every, deadline, seen } = check;
  const rule = `it must hold for ${holdsFor} within ${deadline}`;
  const again = end === null && paused === null ? `, and is looked at every ${every}` : '';
  if (seen === null) return [`check ${what}: not looked at yet; ${rule}`];
  const said = `${OUTCOMES[seen.outcome]}${whenOf(seen.lastAt, now)}: ${seen.message}`;
  return [`check ${what}: ${said}; ${rule}${again}`];
}

const OUTCOMES = { Holds: 'held ', Fails: 'did not hold ', Unknown: 'could not be judged ' } as const;

/** Empty if the message tells it, or nothing restarts for it any more. */
function changeLines({ changed, end, message }: RolloutView, now: Now): string[] {
  if (changed === null || end === 'Complete' || message.includes(changed.what)) return [];
  return [`restarts VMs, since ${changeOf(changed, now)}`];
}

/** Says what has changed, and when. */
export const changeOf = ({ what, at }: NonNullable<RolloutView['changed']>, now: Now): string =>
  `${what} changed ${whenOf(at, now)}`;
