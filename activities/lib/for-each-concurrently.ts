import { slowStart } from './slow-start.ts';

/** Starts work on an item; resolves to null if the item is then waited for. */
interface Starter<T, O> {
  take(item: T): Promise<O | null>;
}

/**
 * Returns the outcomes of all items that are not waited for. Starts with `concurrency` items at once, and goes up to
 * `most` while all goes well. Throws as `slowStart` does.
 */
export async function forEachConcurrently<T, O>(
  starter: Starter<T, O>,
  items: readonly T[],
  concurrency: number,
  most = concurrency,
): Promise<O[]> {
  const outcomes: O[] = [];
  const act = async (item: T): Promise<void> => {
    const outcome = await starter.take(item);
    if (outcome !== null) outcomes.push(outcome);
  };
  await slowStart(items, act, { most, atFirst: concurrency });
  return outcomes;
}
