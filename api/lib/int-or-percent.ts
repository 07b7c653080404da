/** A number of VMs, or a percentage of them such as `25%`. */
export type IntOrPercent = number | string;

/**
 * Resolves a value against `total`: a number as it is, a percentage rounded down (unless `round` says otherwise), and
 * never less than `atLeast`. Throws a `RangeError` if a text is not a percentage.
 */
export function countOf(value: IntOrPercent, total: number, atLeast = 0, round = Math.floor): number {
  if (typeof value === 'number') return Math.max(value, atLeast);
  const percent = /^(\d{1,3})%$/.exec(value)?.[1];
  if (percent === undefined)
    throw new RangeError(`${JSON.stringify(value)} is neither a number nor a percentage such as 25%`);
  return Math.max(round((total * Number(percent)) / 100), atLeast);
}

/** Reports whether a value is 0 of any total. */
export const isZero = (value: IntOrPercent): boolean => value === 0 || value === '0%';
