import { Cron } from 'croner';
import { closest } from './closest.ts';

const FIELDS: readonly (readonly [name: string, values: string])[] = [
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day of month', '1 to 31'],
  ['month', '1 to 12 or JAN to DEC'],
  ['day of week', '0 to 7 or SUN to SAT'],
];

/** The message for a text that is not a cron. */
export const CRON_SHAPE = 'must have five fields: minute, hour, day of month, month, day of week';

/** What other schedulers know by names. */
const NAMED: Partial<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

/** A time far in the past: a cron with no run after it never runs. */
const LONG_AGO = new Date(0);

/**
 * Parses a cron of five fields in a time zone. When clocks change, times without a wildcard or step run once: skipped
 * times run when the gap ends, and repeated times run the first time. Throws a `RangeError` that says in one sentence
 * what is wrong with the cron or the time zone.
 */
export function cronOf(text: string, timeZone: string): Cron {
  const key = `${text} ${timeZone}`;
  const known = KNOWN.get(key) ?? read(text, timeZone);
  if (KNOWN.size >= MAX_KNOWN) KNOWN.clear();
  KNOWN.set(key, known);
  if (known instanceof Cron) return known;
  throw new RangeError(known);
}

/** Kept, because parsing is expensive, and a pool asks on each of its turns. */
const KNOWN = new Map<string, Cron | string>();
const MAX_KNOWN = 100;

/** Returns a cron, or what is wrong with it or with the time zone. */
const read = (text: string, timeZone: string): Cron | string =>
  timeZoneFault(timeZone) ?? cronFault(text) ?? parse(text, timeZone);

/**
 * Returns the last run of the cron at or before `time`, in milliseconds since the epoch; null if there is none. A cron
 * has a resolution of one second, and excludes the moment that it is given.
 */
export const lastRun = (cron: Cron, time: number): number | null =>
  cron.previousRuns(1, new Date(time + 1))[0]?.getTime() ?? null;

/** Returns what is wrong with a cron of five fields; undefined if it is valid. */
export function cronFault(text: string): string | undefined {
  const fields = text.trim().split(/ +/);
  const named = NAMED[text.trim()];
  if (named !== undefined) return `${CRON_SHAPE}, here ${named}`;
  if (/^(CRON_)?TZ=/.test(text)) return `${CRON_SHAPE}; the time zone is given apart from it`;
  if (fields.length !== FIELDS.length) return CRON_SHAPE;
  for (const [index, [name, values]] of FIELDS.entries()) {
    const alone = FIELDS.map((_, other) => (other === index ? fields[index] : '*')).join(' ');
    if (!parses(alone)) {
      return `${name} ${fields[index]} is not understood: write ${values}, a list (2,4), a rising range (2-4) or a step (*/2)`;
    }
  }
  return parse(text, 'UTC').nextRun(LONG_AGO) === null ? 'no year has such a day, so it never runs' : undefined;
}

/** Returns what is wrong with the name of a time zone; undefined if it is valid. */
export function timeZoneFault(name: string): string | undefined {
  try {
    void new Intl.DateTimeFormat('en', { timeZone: name });
    // The API server does not know names whose letters have another case.
    const right = Intl.supportedValuesOf('timeZone').find((zone) => zone.toLowerCase() === name.toLowerCase());
    return right === undefined || right === name ? undefined : `${name} is written ${right}`;
  } catch {
    const meant = closest(name, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
    return meant === undefined
      ? `${name} is not a time zone: use a name such as Europe/Zurich or UTC`
      : `${name} is not a time zone; did you mean ${meant}?`;
  }
}

const parse = (text: string, timezone: string): Cron =>
  new Cron(text, { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true });

function parses(text: string): boolean {
  try {
    parse(text, 'UTC');
    return true;
  } catch {
    return false;
  }
}
