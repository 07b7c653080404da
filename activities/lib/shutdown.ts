import { once } from 'node:events';
import { ApplicationFailure } from '@temporalio/common';

/**
 * The failure that ends an activity that only waits, on a worker that is asked to shut down: another worker continues
 * at once.
 */
export const workerStopping = (): ApplicationFailure =>
  ApplicationFailure.create({ type: 'WorkerStopping', message: 'the worker is shutting down', nextRetryDelay: 1 });

/** Rejects with `workerStopping` once the worker is asked to shut down. */
export async function rejectOnShutdown(stopping: AbortSignal): Promise<never> {
  if (!stopping.aborted) await once(stopping, 'abort');
  throw workerStopping();
}

/**
 * The failure that ends an activity that only looks at caches, on a worker whose caches have lost the API server:
 * another worker continues.
 */
export const serverLost = (): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'ApiServerLost',
    message: 'this worker cannot reach the API server',
    nextRetryDelay: 500,
  });

/** The failure that ends an activity that goes by what the API server no longer has: the next attempt looks anew. */
export const serverRestored = (): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'ApiServerRestored',
    message: 'the API server was restored from a backup',
    nextRetryDelay: 500,
  });

/** Rejects with `serverLost` once the API server is lost. */
export async function rejectOnServerLost(lost: AbortSignal): Promise<never> {
  if (!lost.aborted) await once(lost, 'abort');
  throw serverLost();
}
