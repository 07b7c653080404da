import { DEFAULT_CHECK, DEFAULT_JOB_CHECK, MIN_EVERY_MS } from '../../../api/lib/check-defaults.ts';
import { durationMs, isDuration } from '../../../api/lib/duration.ts';
import type { CheckStatus, RolloutStatus, StepCheck } from '../../../api/pool/pool.ts';
import { hashOf, revisionOf } from '../../template/revision.ts';
import { poolTemplate } from '../../template/template.ts';
import type { StoredPool } from '../../views/pool.ts';

/**
 * After this time without a look, because of a pause or without a worker, a check begins anew: what it was in between
 * is unknown.
 */
const LEAST_GAP_MS = 60_000;

/** What a look at a check has found. */
export type Look = Pick<CheckStatus, 'outcome' | 'message'>;

/** What a look has found: how it has ended, or that a Job is still to end. */
export type Looked = Look | { running: NonNullable<CheckStatus['job']> };

/** What a check leaves out. */
export const defaultsOf = ({ job }: StepCheck) => (job === undefined ? DEFAULT_CHECK : DEFAULT_JOB_CHECK);

/** A check with all its defaults. Times are in milliseconds. */
interface CheckRules {
  holdsForMs: number;
  everyMs: number;
  deadlineMs: number;
  /** The longest time between two looks that are taken to cover the time between them. */
  gapMs: number;
  failureThreshold: number;
}

/** Ignores durations that are invalid today but were stored by an earlier version. */
export function checkRules(check: StepCheck): CheckRules {
  const ms = (field: 'holdsFor' | 'every' | 'deadline'): number => {
    const text = check[field];
    return durationMs(text !== undefined && isDuration(text) ? text : defaultsOf(check)[field]);
  };
  const everyMs = Math.max(ms('every'), MIN_EVERY_MS);
  return {
    holdsForMs: ms('holdsFor'),
    everyMs,
    deadlineMs: ms('deadline'),
    gapMs: Math.max(3 * everyMs, LEAST_GAP_MS),
    failureThreshold: check.failureThreshold ?? defaultsOf(check).failureThreshold,
  };
}

type At = Pick<RolloutStatus, 'revision' | 'step' | 'stepReachedAt' | 'resumedAt'>;

/** What a look at this check would be of; null if the step is not reached. What was seen of anything else is void. */
export function subjectOf(
  check: StepCheck,
  { revision, step, stepReachedAt, resumedAt }: At,
): CheckStatus['of'] | null {
  if (stepReachedAt === undefined) return null;
  const isLater = resumedAt !== undefined && Date.parse(resumedAt) > Date.parse(stepReachedAt);
  return { revision, step: step + 1, since: isLater ? resumedAt : stepReachedAt, digest: hashOf(check) };
}

const isSame = (a: CheckStatus['of'], b: CheckStatus['of']): boolean =>
  a.revision === b.revision &&
  a.step === b.step &&
  a.digest === b.digest &&
  Date.parse(a.since) === Date.parse(b.since);

/** Returns what is known of the check of this step. */
export const known = (status: CheckStatus | undefined, of: CheckStatus['of'] | null): CheckStatus | null =>
  status !== undefined && of !== null && isSame(status.of, of) ? status : null;

/** Returns the same, if it was seen late enough. `now`: milliseconds since the epoch. */
export function seenOf(
  check: StepCheck,
  status: CheckStatus | undefined,
  of: CheckStatus['of'] | null,
  now: number,
): CheckStatus | null {
  const seen = known(status, of);
  return seen !== null && now - Date.parse(seen.lastAt) <= checkRules(check).gapMs ? seen : null;
}

export interface DueCheck {
  check: StepCheck;
  of: CheckStatus['of'];
}

/** Returns the check of the step that the rollout waits at, by the pool as the API server has it; null if none. */
export function dueCheck({ metadata, spec, status }: StoredPool): DueCheck | null {
  const rollout = status?.rollout;
  if (rollout === undefined || metadata.deletionTimestamp !== undefined || spec.paused === true) return null;
  if (rollout.completedAt !== undefined || rollout.halted !== undefined || rollout.paused !== undefined) return null;
  const check = spec.rollout?.steps?.[rollout.step]?.then.check;
  if (check === undefined || rollout.revision !== revisionOf(poolTemplate(spec))) return null;
  const of = subjectOf(check, rollout);
  return of === null ? null : { check, of };
}

/** Returns the Job in the status that is no longer waited for; null if there is none. */
export function staleJob(pool: StoredPool): NonNullable<CheckStatus['job']> | null {
  const { check } = pool.status ?? {};
  return check?.job === undefined || known(check, dueCheck(pool)?.of ?? null) !== null ? null : check.job;
}

/** Returns what is known after a look. `at`: milliseconds since the epoch. */
export function afterLook(
  before: CheckStatus | undefined,
  { check, of }: DueCheck,
  looked: Looked,
  at: number,
): CheckStatus {
  const { gapMs } = checkRules(check);
  const lastAt = new Date(at).toISOString();
  const same = known(before, of);
  const isOnTime = (time: string): boolean => at - Date.parse(time) <= gapMs;
  const last = same !== null && isOnTime(same.lastAt) ? same : null;
  // A Job that a pause or an outage has outlasted is not made again: its number stays taken.
  const run = check.job === undefined ? {} : { run: runOf(same) };
  if ('running' in looked) return { ...(last ?? notYet(of, lastAt)), ...run, lastAt, job: looked.running };
  const { outcome, message } = looked;
  return {
    of,
    startedAt: last?.startedAt ?? lastAt,
    lastAt,
    outcome,
    message: message.slice(0, 1024),
    inARow: last?.outcome === outcome ? last.inARow + 1 : 1,
    ...run,
    ...holdingAfter(last, outcome, { at, lastsMs: check.job === undefined ? gapMs : Infinity }),
  };
}

/**
 * Since when, and until when, a check is known to hold. A look that tells nothing neither ends that time nor counts
 * towards it. `lastsMs`: for how long after a look the check counts as holding.
 */
function holdingAfter(
  last: CheckStatus | null,
  outcome: Look['outcome'],
  { at, lastsMs }: { at: number; lastsMs: number },
): Pick<CheckStatus, 'holdsSince' | 'holdsUntil'> {
  if (outcome === 'Fails') return {};
  const { holdsSince, holdsUntil } = last ?? {};
  const isHolding = holdsSince !== undefined && holdsUntil !== undefined && at - Date.parse(holdsUntil) <= lastsMs;
  if (outcome === 'Unknown') return isHolding ? { holdsSince, holdsUntil } : {};
  const now = new Date(at).toISOString();
  return { holdsSince: isHolding ? holdsSince : now, holdsUntil: now };
}

/** What is known of a check whose first Job has not ended. */
const notYet = (of: CheckStatus['of'], at: string): CheckStatus => ({
  of,
  startedAt: at,
  lastAt: at,
  outcome: 'Unknown',
  message: 'its Job has not ended yet',
  inARow: 0,
});

/** Which Job of a check has not ended, or is the next, counted from 1. */
export const runOf = (seen: CheckStatus | null): number => (seen?.run ?? 0) + (seen?.job === undefined ? 1 : 0);

/** What the record of a check means for its step. `Unjudged`: the deadline has passed, and only a user can tell. */
export type Verdict = 'Passed' | 'Failed' | 'Unjudged' | 'Open';

/** Judges what is known of a check, however long ago that was. */
export function verdictOf(check: StepCheck, seen: CheckStatus | null): Verdict {
  if (seen === null) return 'Open';
  const { holdsForMs, deadlineMs, failureThreshold } = checkRules(check);
  const lastAt = Date.parse(seen.lastAt);
  const { outcome, inARow, holdsSince = '', holdsUntil = '' } = seen;
  if (outcome === 'Holds' && Date.parse(holdsUntil) - Date.parse(holdsSince) >= holdsForMs) return 'Passed';
  if (outcome === 'Fails' && inARow >= failureThreshold) return 'Failed';
  // What holds at the deadline may go on to do so.
  if (outcome === 'Holds' || lastAt - Date.parse(seen.startedAt) < deadlineMs) return 'Open';
  return outcome === 'Unknown' ? 'Unjudged' : 'Failed';
}

/** When the check is to be looked at next, in milliseconds since the epoch. */
export const nextLookAt = (check: StepCheck, seen: CheckStatus | null): number =>
  seen === null || seen.job !== undefined ? 0 : Date.parse(seen.lastAt) + checkRules(check).everyMs;

export function whyFailed(check: StepCheck, { outcome, inARow, message }: CheckStatus): string {
  const { failureThreshold } = checkRules(check);
  const times = inARow === 1 ? '' : `, ${inARow} times in a row`;
  if (outcome === 'Fails' && inARow >= failureThreshold) return `${message}${times}`;
  const { holdsFor, deadline } = { ...defaultsOf(check), ...check };
  return `it has not held for ${holdsFor} within ${deadline}; last: ${message}`;
}

/** Says how far a check is; numbers that change with each look are left to its own status. */
export function formatCheck(check: StepCheck, seen: CheckStatus | null, verdict: Verdict): string {
  const { holdsForMs, failureThreshold } = checkRules(check);
  const { holdsFor } = { ...defaultsOf(check), ...check };
  if (seen === null) return `its check must hold for ${holdsFor}`;
  const { outcome, inARow, message, holdsSince } = seen;
  if (verdict === 'Unjudged')
    return `its check can't be judged: ${message}; it waits for \`drover rollout promote\`, or until the check has held for ${holdsFor}`;
  if (outcome === 'Unknown') return `its check can't be judged now: ${message}`;
  if (outcome === 'Fails') return `its check does not hold, ${inARow} of ${failureThreshold} times in a row`;
  const until = new Date(Date.parse(holdsSince ?? seen.lastAt) + holdsForMs).toISOString();
  return `its check has held since ${holdsSince}, and it continues at ${until}`;
}
