import { summary } from '../../decisions/lib/summary.ts';

/**
 * The clocks of the worker and of Temporal differ by a little: waiting for a moment that has just passed must not spin.
 */
const LEAST_WAIT_MS = 50;

/**
 * Returns the next moment at which time alone may change something; null if only an event can. `wakeAt`, `retryAt`:
 * when to plan again, and when a delay after a failure ends; milliseconds since the epoch. `why`: what it waits for.
 */
export function nextWait({
  wakeAt,
  retryAt,
  why,
}: Record<'wakeAt' | 'retryAt', number | null> & { why: string }): { ms: number; summary: string } | null {
  const delayMs = retryAt === null ? Infinity : retryAt - Date.now();
  const planMs = wakeAt === null ? Infinity : Math.max(wakeAt - Date.now(), LEAST_WAIT_MS);
  if (delayMs !== Infinity && delayMs <= planMs) return { ms: delayMs, summary: 'the delay after a failure' };
  return planMs === Infinity ? null : { ms: planMs, summary: summary(why) };
}
