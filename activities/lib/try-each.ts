import { cancellationSignal } from '@temporalio/activity';
import { isRefusalOfOne, isTransient, KubeError } from '../../kubernetes/errors.ts';
import type { Done, Refused } from '../owners/types.ts';
import { slowStart } from './slow-start.ts';

/** This many refusals in a row, of one item each, count as a refusal of all. */
const REFUSALS = 3;

export interface TryEachOptions {
  /** Maximum number of calls in flight, and how many at first. */
  most: number;
  atFirst?: number;
}

/**
 * Runs `act` on each item, and returns refusals in words. A refusal that may concern one item alone lets the others go
 * on; several of that kind in a row end the run, and so does a refusal that concerns all.
 */
export async function tryEach<T extends { name: string }>(
  items: readonly T[],
  act: (item: T) => Promise<void>,
  { most, atFirst = 1 }: TryEachOptions,
): Promise<Pick<Done, 'count' | 'refused'>> {
  let count = 0;
  let inARow = 0;
  let first: KubeError | null = null;
  const names: string[] = [];
  const counted = async (item: T): Promise<void> => {
    try {
      await act(item);
      count++;
      inARow = 0;
    } catch (error) {
      if (!isRefusalOfOne(error)) throw error;
      first ??= error;
      names.push(item.name);
      if (++inARow >= REFUSALS) throw error;
    }
  };
  const refusedBy = ({ reason, message }: KubeError, isGeneral: boolean): Refused => ({
    reason,
    message,
    names,
    isGeneral,
  });
  try {
    await slowStart(items, counted, { most, atFirst, signal: cancellationSignal() });
    return { count, refused: first === null ? null : refusedBy(first, false) };
  } catch (error) {
    if (!(error instanceof KubeError) || isTransient(error)) throw error;
    return { count, refused: refusedBy(error, true) };
  }
}
