export const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

export const later = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b);

/** Returns the earliest of the times after `now`; null if there is none. */
export const earliestAfter = (now: number, times: readonly (number | null)[]): number | null =>
  times.filter((time) => time !== null && time > now).reduce<number | null>(earlier, null);
