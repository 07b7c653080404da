const FIRST_MS = 1_000;
const LAST_MS = 60_000;

/**
 * How long to wait after the `failures`-th failure in a row (from 1), in milliseconds: doubles each time, up to a
 * minute.
 */
export const backoffMs = (failures: number): number => Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 16), LAST_MS);
