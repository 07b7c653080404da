/**
 * Returns how long to wait after the n-th failure in a row (from 1): `first` after the first, then twice as long after
 * each, up to `last`; in milliseconds.
 */
export const doubling =
  (first: number, last: number) =>
  (failures: number): number =>
    Math.min(first * 2 ** Math.min(failures - 1, 16), last);

export const backoffMs = doubling(1_000, 60_000);
