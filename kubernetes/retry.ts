import { setTimeout as sleep } from 'node:timers/promises';
import { isConflict } from './errors.ts';

interface RetryOptions {
  /** How often `act` is called at most. */
  tries: number;
  /** Which errors are worth another try; conflicts by default. */
  isRace?: (error: unknown) => boolean;
  /** How long to wait after this many tries, in milliseconds. */
  pauseMs?: (tries: number) => number;
}

/**
 * Calls `act`, which reads an object and writes it, again if another client has written it in between. Throws the error
 * of the last try, and any other error at once. Named after client-go's function.
 */
export async function retryOnConflict<T>(
  act: () => Promise<T>,
  { tries, isRace = isConflict, pauseMs }: RetryOptions,
): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await act();
    } catch (error) {
      if (!isRace(error) || count >= tries) throw error;
      if (pauseMs !== undefined) await sleep(pauseMs(count));
    }
  }
}
