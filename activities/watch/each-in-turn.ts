import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `act` for one key after another, until `ended`. Thousands of owners take seconds: between two of them, the
 * worker does whatever else is due, and for as long as `act` says, in milliseconds, nothing of this.
 */
export async function eachInTurn(
  keys: readonly string[],
  act: (key: string) => number | void,
  ended: AbortSignal,
): Promise<void> {
  for (const key of keys) {
    if (ended.aborted) return;
    await sleep(act(key) ?? 0);
  }
}
