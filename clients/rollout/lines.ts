import { formatFailure, formatRequest } from '../../decisions/runs/report.ts';
import { ageOf, paint, plain, type Style } from '../cli/output.ts';
import { formatRevision } from './revisions.ts';
import type { NamedRevision, RolloutView } from './view.ts';

const FAILURES_SHOWN = 10;

/**
 * Milliseconds since the epoch. If undefined, times are printed as timestamps, so that lines change only when the
 * rollout does.
 */
export type Now = number | undefined;

/** Describes the rollout in a few lines: its state and why, who paused it, what failed, its step. */
export function rolloutLines(view: RolloutView, now: Now): string[] {
  return [
    `${paint(styleOf(view), view.phase)}: ${plain(whereItStands(view))}`,
    ...pauseLines(view, now),
    ...failureLines(view, now),
    ...stepLines(view, now),
    ...changeLines(view, now),
  ];
}

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

export function styleOf({ end, phase, paused }: RolloutView): Style {
  if (end === 'Complete') return paused === null ? 'green' : 'yellow';
  if (end === 'Failed' || end === 'Blocked' || phase === 'Undoing') return 'red';
  return paused === null && end === null ? 'cyan' : 'yellow';
}

/**
 * The revisions and the message, with revision numbers in place of the message's hashes. A single revision that the
 * message names is not repeated.
 */
function whereItStands({ target, current, end, message }: RolloutView): string {
  const from = current === null || current.hash === target.hash || end === 'Complete' ? null : current;
  const named = `revision ${target.hash}`;
  if (from === null && message.includes(named)) return message.replaceAll(named, `revision ${formatRevision(target)}`);
  const to = `revision ${formatRevision(target)}${from === null ? '' : `, from ${formatRevision(from)}`}`;
  return message === '' ? to : `${to}: ${[target, ...(from === null ? [] : [from])].reduce(numbered, message)}`;
}

const numbered = (message: string, { number, hash }: NamedRevision): string =>
  number === null ? message : message.replaceAll(`revision ${hash}`, `revision ${number}`);

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

/** Empty if the message tells it, or nothing restarts for it any more. */
function changeLines({ changed, end, message }: RolloutView, now: Now): string[] {
  if (changed === null || end === 'Complete' || message.includes(changed.what)) return [];
  return [plain(`restarts VMs, since ${changeOf(changed, now)}`)];
}

/** Says what has changed, and when. */
export const changeOf = ({ what, at }: NonNullable<RolloutView['changed']>, now: Now): string =>
  `${what} changed ${whenOf(at, now)}`;

function pauseLines({ paused }: RolloutView, now: Now): string[] {
  if (paused === null) return [];
  const since = paused.at === null ? '' : ` ${whenOf(paused.at, now)}`;
  return [paint('yellow', plain(formatRequest('paused', paused, since)))];
}

function failureLines({ failures, message }: RolloutView, now: Now): string[] {
  const earlier = failures.length - FAILURES_SHOWN;
  return [
    ...(earlier > 0 ? [paint('red', `${failures.length} VMs failed; the last ${FAILURES_SHOWN}:`)] : []),
    ...failures.slice(-FAILURES_SHOWN).map((failure) => paint('red', plain(failureLine(failure, message, now)))),
  ];
}

/** Omits the reason if the message already gives it. */
function failureLine({ at, ...failure }: RolloutView['failures'][number], message: string, now: Now): string {
  const why = message.includes(`: ${failure.why}`) ? '' : failure.why;
  return formatFailure({ ...failure, why }, ` ${whenOf(at, now)}`);
}

/** `3m ago`, or `at` the timestamp without `now`. */
export const whenOf = (at: string, now: Now): string => (now === undefined ? `at ${at}` : `${ageOf(at, now)} ago`);
