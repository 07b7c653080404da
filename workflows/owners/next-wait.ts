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
  requeueAt,
  retryAt,
  message,
}: Record<'requeueAt' | 'retryAt', number | null> & { message: string }): { ms: number; summary: string } | null {
  const delayMs = retryAt === null ? Infinity : retryAt - Date.now();
  const planMs = requeueAt === null ? Infinity : Math.max(requeueAt - Date.now(), LEAST_WAIT_MS);
  if (delayMs !== Infinity && delayMs <= planMs) return { ms: delayMs, summary: 'the delay after a failure' };
  return planMs === Infinity ? null : { ms: planMs, summary: summary(message) };
}
