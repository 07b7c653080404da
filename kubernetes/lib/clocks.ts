/** By the wall clock and by the process's clock: each stops, or jumps, in a different kind of suspension. */
export const clocks = () => ({ day: Date.now(), process: performance.now() });

export type Clocks = ReturnType<typeof clocks>;

/** Returns how long ago that was, in milliseconds, by the clock that says longer. */
export function ageOf(since: Clocks): number {
  const now = clocks();
  return Math.max(now.day - since.day, now.process - since.process);
}
