import { Cron } from 'croner';
import { closest } from './closest.ts';

const FIELDS: readonly (readonly [name: string, values: string])[] = [
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day of month', '1 to 31'],
  ['month', '1 to 12 or JAN to DEC'],
  ['day of week', '0 to 7 or SUN to SAT'],
];

/** What a user reads of a text that is no cron at all. */
export const CRON_SHAPE = 'must have five fields: minute, hour, day of month, month, day of week';

/** Far from the end of the calendar: a cron that doesn't come after it never does. */
const LONG_AGO = new Date(0);

/**
 * A cron of five fields in a time zone. On the days on which clocks change, times without a wildcard or step happen
 * once: what is skipped happens when the skip ends, and what comes twice happens the first time. Throws a `RangeError`
 * that says in one sentence what is wrong with either.
 */
export function cronOf(text: string, timeZone: string): Cron {
  const fault = timeZoneFault(timeZone) ?? cronFault(text);
  if (fault !== undefined) throw new RangeError(fault);
  return parse(text, timeZone);
}

/** What is wrong with a cron of five fields; undefined where nothing is. */
export function cronFault(text: string): string | undefined {
  const fields = text.trim().split(/ +/);
  if (fields.length !== FIELDS.length) return CRON_SHAPE;
  for (const [index, [name, values]] of FIELDS.entries()) {
    const alone = FIELDS.map((_, other) => (other === index ? fields[index] : '*')).join(' ');
    if (!parses(alone)) {
      return `${name} ${fields[index]} is not understood: write ${values}, a list (2,4), a rising range (2-4) or a step (*/2)`;
    }
  }
  return parse(text, 'UTC').nextRun(LONG_AGO) === null ? 'no year has such a day: it never comes' : undefined;
}

/** What is wrong with the name of a time zone; undefined where nothing is. */
export function timeZoneFault(name: string): string | undefined {
  try {
    void new Intl.DateTimeFormat('en', { timeZone: name });
    return undefined;
  } catch {
    const meant = closest(name, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
    return meant === undefined
      ? `${name} is no time zone: write a name such as Europe/Zurich or UTC`
      : `${name} is no time zone; did you mean ${meant}?`;
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
