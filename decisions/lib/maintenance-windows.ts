import { cronOf, lastRun } from '../../api/lib/cron.ts';
import { durationMs } from '../../api/lib/duration.ts';
import type { MaintenanceWindow } from '../../api/pool/pool.ts';
import { DEFAULT_TIME_ZONE } from '../../api/rules/pool-defaults.ts';

/** All times in milliseconds since the epoch. */
export type WindowState =
  /** Open until `until` at least; null: there are no windows, so always. */
  { open: true; until: number | null } | ClosedWindow;

/** `next`: when a window opens, in milliseconds since the epoch; null: never. */
export interface ClosedWindow {
  open: false;
  next: number | null;
}

/**
 * Reports whether a batch may begin at `now`: always if there are no windows, otherwise while any window is open. A
 * window stays open for its duration, in elapsed time, from each time of its cron; it may last until its next opening.
 * A window that can't be parsed never opens: `windowFaults` says why.
 */
export function windowAt(windows: readonly MaintenanceWindow[], now: number): WindowState {
  if (windows.length === 0) return { open: true, until: null };
  const schedules = windows.map(scheduleOf).filter((schedule) => 'cron' in schedule);
  const openings = schedules.flatMap(({ cron, ms }) => cron.nextRun(new Date(now - ms))?.getTime() ?? []);
  const next = Math.min(...openings);
  if (next <= now) return { open: true, until: endOf(schedules, now) };
  return { open: false, next: openings.length === 0 ? null : next };
}

const YEAR_MS = 366 * 86_400_000;
/** Windows that open more often than this in a year are taken to meet: each opening that is looked at takes time. */
const MOST_OPENINGS = 800;

/** Reports whether the windows of both are open at the same time, for a moment at least, within a year from `now`. */
export function everMeet(one: readonly MaintenanceWindow[], other: readonly MaintenanceWindow[], now: number): boolean {
  let time = now;
  for (let tries = 0; tries < MOST_OPENINGS; tries++) {
    const closed = [one, other].map((windows) => windowAt(windows, time)).find((state) => !state.open);
    if (closed === undefined) return true;
    if (closed.next === null || closed.next > now + YEAR_MS) return false;
    time = closed.next;
  }
  return true;
}

/**
 * Returns why the windows at this path never open, one sentence each: `drover apply` refuses these, while the API
 * server can't detect them.
 */
export const windowFaults = (windows: readonly MaintenanceWindow[], path: string): string[] =>
  windows.flatMap((window, index) => {
    const schedule = scheduleOf(window);
    return 'fault' in schedule ? [`${path}[${index}]: ${schedule.fault}`] : [];
  });

/**
 * Says what is waited for while the windows at this path are closed. Windows that `drover apply` has not checked may
 * never open.
 */
export const whyClosed = ({ next }: ClosedWindow, windows: readonly MaintenanceWindow[] = [], path = ''): string =>
  [
    next === null ? 'no further window opens' : `the next window opens at ${new Date(next).toISOString()}`,
    ...windowFaults(windows, path),
  ].join(', ');

interface Schedule {
  cron: ReturnType<typeof cronOf>;
  /** How long the window stays open, in milliseconds. */
  ms: number;
}

/** Windows may follow each other without end: limits how many are joined. */
const MAX_JOINED = 8;

function endOf(schedules: readonly Schedule[], now: number): number {
  let end = now;
  for (let joined = 0; joined < MAX_JOINED; joined++) {
    const later = Math.max(...schedules.map((schedule) => lastOpening(schedule, end) + schedule.ms));
    if (later <= end) break;
    end = later;
  }
  return end;
}

const lastOpening = ({ cron }: Schedule, time: number): number => lastRun(cron, time) ?? -Infinity;

function scheduleOf(window: MaintenanceWindow): Schedule | { fault: string } {
  const { cron, duration, timeZone = DEFAULT_TIME_ZONE } = window;
  try {
    return { cron: cronOf(cron, timeZone), ms: durationMs(duration) };
  } catch (error) {
    if (error instanceof RangeError) return { fault: error.message };
    throw error;
  }
}
