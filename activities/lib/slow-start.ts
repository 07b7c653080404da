import { setTimeout as sleep } from 'node:timers/promises';
import { KubeError, isTransient } from '../../kubernetes/errors.ts';

const TRIES = 5;
const PAUSE_MS = 100;

export interface BurstOptions {
  /** Calls in flight at once at most. */
  most: number;
  /** Calls in flight at first: 1 where a refusal is to cost one call and not a burst of them. */
  atFirst?: number;
  signal: AbortSignal;
}

/**
 * Runs `act` on every item, as many at once as the API server takes: it starts with few calls, lets one more in with
 * every answer, and halves when the server is away or busy, so that a server in trouble is not hit by a whole burst.
 *
 * An item that met a passing fault is tried again, `TRIES` times at most. Ends at the first refusal (quota, permission,
 * invalid) or lasting fault: nothing more is begun, what is in flight is awaited, and the error is thrown.
 */
export async function slowStart<T>(
  items: readonly T[],
  act: (item: T) => Promise<void>,
  options: BurstOptions,
): Promise<void> {
  const { most, atFirst = 1, signal } = options;
  const waiting = items.map((item) => ({ item, tries: 0 }));
  const inFlight = new Set<Promise<void>>();
  let window = Math.min(atFirst, most);
  let notBefore = 0;
  let failure: unknown;

  const run = async (entry: { item: T; tries: number }): Promise<void> => {
    try {
      await act(entry.item);
      window = Math.min(window + 1, most);
    } catch (error) {
      entry.tries++;
      if (!isTransient(error) || entry.tries >= TRIES) failure ??= error;
      else {
        window = Math.max(Math.floor(window / 2), 1);
        const pause = (error instanceof KubeError && error.retryAfterMs) || PAUSE_MS * 2 ** entry.tries;
        notBefore = Math.max(notBefore, Date.now() + pause);
        waiting.unshift(entry);
      }
    }
  };

  const mayBegin = (): boolean => failure === undefined && waiting.length > 0;
  while (mayBegin() || inFlight.size > 0) {
    signal.throwIfAborted();
    const pause = notBefore - Date.now();
    if (mayBegin() && pause > 0 && inFlight.size === 0) await sleep(pause, undefined, { signal });
    while (mayBegin() && inFlight.size < window && Date.now() >= notBefore) {
      const call = run(waiting.shift()!).finally(() => inFlight.delete(call));
      inFlight.add(call);
    }
    if (inFlight.size > 0) await Promise.race(inFlight);
  }
  if (failure !== undefined) throw failure;
}
