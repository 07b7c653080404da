/** One or more counts with units, as Go writes them: `30s`, `1h30m`, `1.5h`, `250ms`. */
export const DURATION = /([0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h))+/;

const PART = /([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g;
const WHOLE = new RegExp(`^${DURATION.source}$`);
const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The longest duration: longer ones make no difference, and exceed what clocks and timers support. */
const CENTURY_MS = 100 * 365 * 24 * 3_600_000;

export const isDuration = (text: string): boolean => WHOLE.test(text);

/**
 * Parses a duration to milliseconds, rounded; a century at most. Throws a `RangeError` if the text is not a duration.
 */
export function durationMs(text: string): number {
  if (!isDuration(text)) throw new RangeError(`${JSON.stringify(text)} is not a duration such as 30s, 10m or 1h30m`);
  let total = 0;
  for (const [, count, unit] of text.matchAll(PART)) total += Number(count) * UNIT_MS[unit!]!;
  return Math.min(Math.round(total), CENTURY_MS);
}
