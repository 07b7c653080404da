/** The rank of a member that is ready and stays where it is: the highest. */
export const SERVING = 3;

/**
 * Orders members by what it costs to lose them: those that are not ready first, then those that migrate, then others.
 */
export function servingRank({ isReady, isMigrating }: { isReady: boolean; isMigrating: boolean }): number {
  if (!isReady) return 1;
  return isMigrating ? 2 : SERVING;
}
