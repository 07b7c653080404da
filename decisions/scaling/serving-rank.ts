/** Orders members by what it costs to lose them: those that are not ready first, then those that migrate, then others. */
export function servingRank({ isReady, isMigrating }: { isReady: boolean; isMigrating: boolean }): number {
  if (!isReady) return 1;
  return isMigrating ? 2 : 3;
}
