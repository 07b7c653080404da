import { cronOf, lastRun } from '../../api/lib/cron.ts';
import { DEFAULT_TIME_ZONE } from '../../api/rules/pool-defaults.ts';
import { DEFAULT_STARTING_DEADLINE_SECONDS } from '../../api/schedules/defaults-and-limits.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import type { StoredSchedule } from '../views/stored-schedule.ts';
import { timeOf } from './names.ts';
import { effectiveSince } from './since.ts';

/** A time for which no operation was made, in milliseconds since the epoch. */
export interface Missed {
  time: number;
  message: string;
}

/** How a schedule stands; all times in milliseconds since the epoch. */
export interface Times {
  since: number;
  /** The last time for which an operation was made, as the API server knows it; null if there was none. */
  last: number | null;
  /** The next time after now; null if there is none, or the schedule is suspended or invalid. */
  next: number | null;
  /** A time that is past, and not too late: its operation is to be made as soon as it may. */
  due: number | null;
  missed: Missed | null;
}

export interface TimesInput {
  schedule: StoredSchedule;
  /** The operations that the schedule has made, as far as they exist. */
  operations: readonly StoredOperation[];
  /**
   * The last time for which an operation was made as its workflow knows it, which may be later than the API server's if
   * etcd was restored; null if unknown.
   */
  ranUntil: number | null;
  /** By the API server's clock. */
  now: number;
}

/** What lies further ahead than this was written while a clock was wrong. */
const FORESEEN_MS = 86_400_000;

/** Returns what keeps its times from being known, in one sentence; null if nothing does. */
export function faultOf({ spec }: StoredSchedule): string | null {
  try {
    cronIn(spec);
    return null;
  } catch (error) {
    if (error instanceof RangeError) return `spec.schedule ${JSON.stringify(spec.schedule)}: ${error.message}`;
    throw error;
  }
}

const cronIn = ({ schedule, timeZone = DEFAULT_TIME_ZONE }: StoredSchedule['spec']) => cronOf(schedule, timeZone);

/** How late an operation may be made. */
export const deadlineMs = ({ spec }: StoredSchedule): number =>
  (spec.startingDeadlineSeconds ?? DEFAULT_STARTING_DEADLINE_SECONDS) * 1_000;

/**
 * Of several times that have passed, the last alone counts, however many they are: what was to be done at the others is
 * done by it, or contradicts it.
 */
export function timesOf(input: TimesInput, isValid: boolean): Times {
  const { schedule, operations, ranUntil, now } = input;
  const { status = {}, spec } = schedule;
  const isKnown = (time: number | null): time is number => time !== null && time <= now + FORESEEN_MS;
  const made = [timeIn(status.lastScheduleTime), ...operations.map((one) => timeOf(schedule, one))].filter(isKnown);
  const last = latest(made);
  const cron = isValid && spec.suspend !== true ? cronIn(spec) : null;
  const { since, lastMissed } = sinceEdit(input, made, cron);
  const still = { since, last, next: null, due: null, missed: lastMissed };
  if (cron === null) return still;
  const next = cron.nextRun(new Date(now))?.getTime() ?? null;
  /** The last time until then; null if it is not later than the known one. */
  const passed = (until: number): number | null => {
    const time = lastRun(cron, until);
    const known = [timeIn(status.lastScheduleTime), ranUntil, lastMissed?.time ?? null].filter(isKnown);
    return time !== null && time > Math.max(since, ...known) ? time : null;
  };
  const newest = passed(now);
  const due = newest !== null && newest > Math.max(...made) ? newest : null;
  if (due !== null && now > due + deadlineMs(schedule))
    return { ...still, next, missed: { time: due, message: whyLate(input, due) } };
  const earlier = newest === null ? null : passed(newest - 1);
  const isMissed = earlier !== null && !made.includes(earlier);
  const missed = isMissed
    ? { time: earlier, message: 'the next time came before its operation could be made' }
    : lastMissed;
  return { ...still, next, due, missed };
}

/**
 * Returns since when times count, and the last one that was missed. A time that was still to be made when users changed
 * the schedule stays so if the schedule still has it; otherwise it is missed. If no worker has seen it come, it is,
 * too: the schedule may have been suspended by then.
 */
function sinceEdit(
  { schedule, ranUntil }: TimesInput,
  made: readonly number[],
  cron: ReturnType<typeof cronOf> | null,
): { since: number; lastMissed: Missed | null } {
  const { status = {} } = schedule;
  const since = effectiveSince(schedule);
  const before = timeIn(status.effectiveSince);
  const lastMissed =
    status.lastMissed === undefined ? null : { ...status.lastMissed, time: timeIn(status.lastMissed.time)! };
  const time = timeIn(status.dueScheduleTime ?? status.nextScheduleTime);
  const known = Math.max(
    before ?? Infinity,
    ...[timeIn(status.lastScheduleTime), ranUntil, lastMissed?.time].map(orNever),
  );
  if (time === null || time > since || time <= known || made.includes(time)) return { since, lastMissed };
  const isKept = status.dueScheduleTime !== undefined && cron !== null && lastRun(cron, time) === time;
  if (isKept) return { since: before!, lastMissed };
  return { since, lastMissed: { time, message: 'the schedule was changed before its operation was made' } };
}

const orNever = (time: number | null | undefined): number => time ?? -Infinity;

const timeIn = (text: string | undefined): number | null => (text === undefined ? null : Date.parse(text));

const latest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.max(...times));

function whyLate({ schedule, operations }: TimesInput, due: number): string {
  const within = `within startingDeadlineSeconds (${deadlineMs(schedule) / 1_000})`;
  const refused = schedule.status?.conditions?.find(({ reason }) => reason === 'OperationRefused')?.message;
  if (refused !== undefined) return `${refused}: not made ${within}`;
  const { concurrencyPolicy: policy = 'Forbid' } = schedule.spec;
  const before = operations.find(
    (one) => one.status?.completionTime === undefined && timeOf(schedule, one) < due && policy !== 'Allow',
  );
  return before === undefined
    ? `no worker made its operation ${within}`
    : `${before.metadata.name} was still in progress, and did not end ${within}`;
}
