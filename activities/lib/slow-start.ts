import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal, isTransient, KubeError } from '../../kubernetes/errors.ts';
import { callSignal } from './current-attempt.ts';

const TRIES = 5;
const PAUSE_MS = 100;

interface BurstOptions {
  /** Maximum number of calls in flight. */
  most: number;
  /** Calls in flight at first: 1 if a refusal should cost one call and not a burst of them. */
  atFirst?: number;
  /** Ends it; by default, the end of the activity does. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs `act` on every item, as many at once as the API server takes: starts with few calls, adds one with every answer,
 * and halves when the server is down or busy, so that a server in trouble is not hit by a whole burst.
 *
 * Retries an item after a transient error, up to `TRIES` tries in all. Ends at the first refusal (quota, permission,
 * invalid) or lasting error: starts no more calls, awaits those in flight, and throws the error.
 */
export async function slowStart<T>(
  items: readonly T[],
  act: (item: T) => Promise<void>,
  options: BurstOptions,
): Promise<void> {
  const { most, atFirst = 1, signal = callSignal() } = options;
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
      if (isRefusal(error) || !isTransient(error) || entry.tries >= TRIES) failure ??= error;
      else {
        window = Math.max(Math.floor(window / 2), 1);
        const pause = (error instanceof KubeError && error.retryAfterMs) || PAUSE_MS * 2 ** entry.tries;
        notBefore = Math.max(notBefore, performance.now() + pause);
        waiting.unshift(entry);
      }
    }
  };

  const mayBegin = (): boolean => failure === undefined && waiting.length > 0;
  while (mayBegin() || inFlight.size > 0) {
    signal?.throwIfAborted();
    const pause = notBefore - performance.now();
    if (mayBegin() && pause > 0 && inFlight.size === 0) await sleep(pause, undefined, { ...(signal && { signal }) });
    while (mayBegin() && inFlight.size < window && performance.now() >= notBefore) {
      const call = run(waiting.shift()!).finally(() => inFlight.delete(call));
      inFlight.add(call);
    }
    if (inFlight.size > 0) await Promise.race(inFlight);
  }
  if (failure !== undefined) throw failure;
}
