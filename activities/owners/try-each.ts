import { ApplicationFailure } from '@temporalio/common';
import { isRefusal, isRefusalOfOne } from '../../kubernetes/errors.ts';
import { slowStart } from '../lib/slow-start.ts';
import type { Done, Refused } from './done.ts';

/** This many refusals in a row, of one item each, count as a refusal of all. */
const REFUSALS = 3;

export interface TryEachOptions {
  /** Maximum number of calls in flight, and how many at first. */
  most: number;
  atFirst?: number;
}

/**
 * The outcome of an item: `skipped` unchanged, because there was nothing to do, or changed. What is skipped does
 * not count as a success: the next plan may want the same again.
 */
export type Acted = 'done' | 'skipped';

/** Type of the failure of housekeeping that was refused; its details have what was. */
export type RefusedType = 'Refused';
const REFUSED: RefusedType = 'Refused';

/**
 * What has become of housekeeping on all items: `skipped` if nothing was done. If nothing was done because that was
 * refused, throws a failure that says which items were, and that Temporal does not retry: the next plan does, in
 * another order.
 */
export function outcomeOf({ count, refused }: Pick<Done, 'count' | 'refused'>): Acted {
  if (count > 0) return 'done';
  if (refused !== null)
    throw ApplicationFailure.create({
      message: refused.message,
      type: REFUSED,
      nonRetryable: true,
      details: [refused],
    });
  return 'skipped';
}

/**
 * Runs `act` on each item, counts successes, and returns refusals as text. A refusal that may concern one item alone
 * lets the others continue; several of that kind in a row end the run, and so does a refusal that concerns all.
 */
export async function tryEach<T extends { name: string }>(
  items: readonly T[],
  act: (item: T) => Promise<Acted>,
  { most, atFirst = 1 }: TryEachOptions,
): Promise<Pick<Done, 'count' | 'refused'>> {
  let count = 0;
  let inARow = 0;
  let first: Pick<Refused, 'reason' | 'message'> | null = null;
  const names: string[] = [];
  const counted = async (item: T): Promise<void> => {
    try {
      if ((await act(item)) === 'done') count++;
      inARow = 0;
    } catch (error) {
      if (!isRefusalOfOne(error)) throw error;
      first ??= error;
      names.push(item.name);
      if (++inARow >= REFUSALS) throw error;
    }
  };
  const refusedBy = ({ reason, message }: Pick<Refused, 'reason' | 'message'>, isGeneral: boolean): Refused => ({
    reason,
    message,
    names,
    isGeneral,
  });
  try {
    await slowStart(items, counted, { most, atFirst });
    return { count, refused: first === null ? null : refusedBy(first, false) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { count, refused: refusedBy(error, true) };
  }
}
