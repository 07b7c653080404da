import { setTimeout as sleep } from 'node:timers/promises';
import { ActRefused, isConflict } from './errors.ts';
import { ageOf, clocks, type Clocks } from './lib/clocks.ts';

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

/** How old an answer may be when a request that rests on it is sent, in milliseconds. */
const FRESH_MS = 1_000;
/** How old it may be if the API server takes longer to answer each time it is asked. */
const AT_MOST_MS = 8_000;

/** For the options of a request: throws if it is too late to send it. */
export type LastCheck = () => void;

/**
 * Asks whether a request that takes something away is still wanted, and sends it while the answer is fresh: `act` does
 * both, and hands the last check on to the request. A worker may be suspended between the two, or wait for its turn: if
 * the answer has grown old, nothing is sent, and `act` is called again. It may have grown older each time, for an API
 * server that is slow. Throws a conflict if it stays too old. `also`: what else is checked last. `answered`: when the
 * caller sent a request whose answer says that it is wanted; `act` need not ask as long as `isKnown`.
 */
export async function whileFresh<T>(
  act: (lastCheck: LastCheck, isKnown: boolean) => Promise<T>,
  also?: LastCheck,
  answered?: Clocks,
): Promise<T> {
  const outdated = new Error('the answer has grown old');
  let freshMs = FRESH_MS;
  for (let known = answered; freshMs <= AT_MOST_MS; known = undefined) {
    const since = known ?? clocks();
    try {
      return await act(() => {
        also?.();
        if (ageOf(since) >= freshMs) throw outdated;
      }, known !== undefined);
    } catch (error) {
      if (error !== outdated) throw error;
    }
    if (known === undefined) freshMs *= 2;
  }
  throw new ActRefused('Conflict', 'the API server takes too long to say whether that is still wanted');
}
