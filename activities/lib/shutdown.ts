import { once } from 'node:events';
import { ApplicationFailure } from '@temporalio/common';

/** A failure that ends an activity which another attempt, mostly on another worker, continues after this delay. */
const endOfAttempt = (type: string, message: string, nextRetryDelay: number) => (): ApplicationFailure =>
  ApplicationFailure.create({ type, message, nextRetryDelay });

/** Ends an activity that only waits, on a worker that is asked to shut down. */
export const workerShutdown = endOfAttempt('WorkerStopping', 'the worker is shutting down', 1);

/** Ends an activity that only looks at caches, on a worker whose caches have lost the API server. */
export const serverLost = endOfAttempt('ApiServerLost', 'this worker cannot reach the API server', 500);

/** Ends an activity that relies on what the API server no longer has: the next attempt looks anew. */
export const serverRestored = endOfAttempt('ApiServerRestored', 'the API server was restored from a backup', 500);

/** Rejects with this failure once the signal is aborted. */
export async function rejectOn(signal: AbortSignal, failure: () => ApplicationFailure): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw failure();
}
