import { setTimeout as sleep } from 'node:timers/promises';
import { isConflict } from './errors.ts';

/** KubeVirt writes to a starting or stopping VM several times a second. */
const TRIES = 8;

export interface RetryOptions {
  /** How often `act` is called at most. */
  tries?: number;
  /** Which errors are worth another try; conflicts by default. */
  isRace?: (error: unknown) => boolean;
  /** How long to wait after this many tries, in milliseconds. */
  pauseMs?: (tries: number) => number;
}

/** For the status of a busy pool, which is written often: each write makes the other writers read it again. */
export const ON_BUSY_STATUS = { tries: 12, pauseMs: (tries: number): number => Math.random() * 20 * tries };

/**
 * Calls `act`, which reads an object and writes it, again if another client has written it in between; `act` may make
 * its first try on what a cache shows. Throws the error of the last try, and any other error at once. Named after
 * client-go's function.
 */
export async function retryOnConflict<T>(
  act: (tries: number) => Promise<T>,
  { tries = TRIES, isRace = isConflict, pauseMs }: RetryOptions = {},
): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await act(count);
    } catch (error) {
      if (!isRace(error) || count >= tries) throw error;
      if (pauseMs !== undefined) await sleep(pauseMs(count));
    }
  }
}
