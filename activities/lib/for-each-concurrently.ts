import { slowStart } from './slow-start.ts';

/**
 * Returns the outcomes of all items; `act` resolves to null for an item that has none yet. Starts with `concurrency`
 * items at once, and goes up to `most` while all goes well. Throws as `slowStart` does.
 */
export async function forEachConcurrently<T, O>(
  items: readonly T[],
  act: (item: T) => Promise<O | null>,
  concurrency: number,
  most = concurrency,
): Promise<O[]> {
  const outcomes: O[] = [];
  const keep = async (item: T): Promise<void> => {
    const outcome = await act(item);
    if (outcome !== null) outcomes.push(outcome);
  };
  await slowStart(items, keep, { most, atFirst: concurrency });
  return outcomes;
}
