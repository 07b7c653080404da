/**
 * Returns a function that looks, unless the last look is in progress. `onFailure` is called with the first error of
 * several in a row.
 */
export function oneAtATime(look: () => Promise<void>, onFailure: (error: Error) => void): () => Promise<void> {
  let isLooking = false;
  let hasFailed = false;
  return async () => {
    if (isLooking) return;
    isLooking = true;
    try {
      await look();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) onFailure(error as Error);
      hasFailed = true;
    } finally {
      isLooking = false;
    }
  };
}
