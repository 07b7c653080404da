import { once } from 'node:events';
import { ApplicationFailure } from '@temporalio/common';

/** What ends an activity that does nothing but wait on a worker that is asked to end: another worker waits on at once. */
export const workerStopping = (): ApplicationFailure => ApplicationFailure.create({ type: 'WorkerStopping', message: 'the worker ends', nextRetryDelay: 1 });

/** Rejects with that failure once the worker is asked to end. */
export async function untilStopping(stopping: AbortSignal): Promise<never> {
  if (!stopping.aborted) await once(stopping, 'abort');
  throw workerStopping();
}
