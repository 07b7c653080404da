import { cancellationSignal } from '@temporalio/activity';
import { slowStart } from './slow-start.ts';

/** Takes something in hand; the outcome is null where it is waited for. */
interface Hand<T, O> {
  take(item: T): Promise<O | null>;
}

/**
 * The outcomes of all that are not waited for. It begins with `concurrency` of them at once, and goes up to `most`
 * while all goes well. Throws as `slowStart` does.
 */
export async function forEachConcurrently<T, O>(
  hand: Hand<T, O>,
  items: readonly T[],
  concurrency: number,
  most = concurrency,
): Promise<O[]> {
  const outcomes: O[] = [];
  const act = async (item: T): Promise<void> => {
    const outcome = await hand.take(item);
    if (outcome !== null) outcomes.push(outcome);
  };
  await slowStart(items, act, { most, atFirst: concurrency, signal: cancellationSignal() });
  return outcomes;
}
