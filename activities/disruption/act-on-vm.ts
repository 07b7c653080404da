import { isRefusal } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';

/**
 * Looks at one VM and acts on it, by `act`, again if another client writes it meanwhile. If it stays refused,
 * `refused` says what that means for this VM alone. Throws transient errors, for the caller to retry.
 * `pauseMs`: how long to wait after this many tries, in milliseconds.
 */
export async function actOnVm<T, O>(
  act: () => Promise<T>,
  refused: (error: Error) => O,
  pauseMs?: (tries: number) => number,
): Promise<T | O> {
  try {
    return await retryOnConflict(act, pauseMs === undefined ? {} : { pauseMs });
  } catch (error) {
    // A webhook may refuse with a code that is transient otherwise.
    if (isRefusal(error)) return refused(error);
    throw error;
  }
}
