import { once } from 'node:events';
import { ApplicationFailure } from '@temporalio/common';

/**
 * What ends an activity that does nothing but wait on a worker that is asked to end: another worker waits on at once.
 */
export const workerStopping = (): ApplicationFailure =>
  ApplicationFailure.create({ type: 'WorkerStopping', message: 'the worker ends', nextRetryDelay: 1 });

/** Rejects with that failure once the worker is asked to end. */
export async function untilStopping(stopping: AbortSignal): Promise<never> {
  if (!stopping.aborted) await once(stopping, 'abort');
  throw workerStopping();
}

/**
 * What ends an activity that only looks at caches, on a worker whose caches have lost the API server: another worker
 * looks on.
 */
export const serverLost = (): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'ApiServerLost',
    message: 'this worker does not reach the API server',
    nextRetryDelay: 500,
  });

/** Rejects with that failure once the API server is lost. */
export async function untilLost(lost: AbortSignal): Promise<never> {
  if (!lost.aborted) await once(lost, 'abort');
  throw serverLost();
}
