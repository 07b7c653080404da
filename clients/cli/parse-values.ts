import { InvalidArgumentError } from 'commander';
import { UsageError } from './failure.ts';

/** Parsers of what a user types after a flag. Each throws with a hint at what would be valid. */

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses `90s`, `5m` or `1h30m` into milliseconds; as in kubectl, only 0 needs no unit. */
export function parseDuration(text: string): number {
  if (text === '0') return 0;
  if (/^\d+$/.test(text))
    throw new InvalidArgumentError(`Give a duration with its unit, such as ${text}s or ${text}m.`);
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new InvalidArgumentError('Give a duration such as 30s, 5m or 1h30m.');
  }
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit!]!, 0);
}

/** Like `parseDuration`, but without 0. */
export function parsePositiveDuration(text: string): number {
  const ms = parseDuration(text);
  if (ms > 0) return ms;
  throw new InvalidArgumentError('Give a duration greater than 0, such as 30s, 5m or 1h30m.');
}

/** Parses a whole number from 0 that fits Kubernetes' int32. */
export function parseCount(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 2_147_483_647) return value;
  throw new InvalidArgumentError('Give a whole number, 0 or more.');
}

/** Parses a whole number from 1, or a percentage such as `5%`. */
export function parseCountOrPercent(text: string): number | string {
  if (/^[1-9]\d*$/.test(text) && Number(text) <= 2_147_483_647) return Number(text);
  if (/^([1-9]\d?|100)%$/.test(text)) return text;
  throw new InvalidArgumentError('Give a whole number from 1, or a percentage such as 5%.');
}

/** Its operations have the name of a schedule, and their time behind it. */
export function parseScheduleName(text: string): string {
  if (/^[a-z0-9]([-a-z0-9.]{0,50}[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError(
    'Give at most 52 lower-case letters, digits, - and ., with a letter or digit at both ends.',
  );
}

export function parseBoolean(text: string): boolean {
  if (['true', 'yes', '1'].includes(text)) return true;
  if (['false', 'no', '0'].includes(text)) return false;
  throw new InvalidArgumentError('Give true or false.');
}

export type DryRun = 'none' | 'client' | 'server';

/** `--dry-run` alone asks the server; `client` stops before that. */
export function parseDryRun(text: string): DryRun {
  if (text === 'none' || text === 'client' || text === 'server') return text;
  throw new InvalidArgumentError('Give none, client or server.');
}

/** Parses a flag's value; throws `UsageError` if `parse` throws a `RangeError`. */
export function parseFlag<T>(flag: string, value: string, parse: (value: string) => T): T {
  try {
    return parse(value);
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(`${flag}: ${error.message}`, { cause: error }) : error;
  }
}

/** Throws `UsageError` for a selector that the API server would refuse in other words. Accepts `undefined`. */
export async function checkSelector(selector: string | undefined): Promise<void> {
  if (selector === undefined) return;
  const { checkLabelSelector } = await import('./label-selector.ts');
  parseFlag('--selector', selector, checkLabelSelector);
}
