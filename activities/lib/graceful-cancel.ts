import { asyncLocalStorage, Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { ensureCurrentAttempt } from './current-attempt.ts';

/** What Temporal calls a cancellation that the workflow has asked for; all others leave no time. */
const BY_WORKFLOW = 'CANCELLED';

/**
 * Runs `act`, which ends by itself soon after `cancelRequested` is aborted: what it has begun at the API server is
 * brought to its end when its workflow cancels it. If the attempt no longer counts, or `act` has thrown, what is left
 * of it is aborted.
 */
export async function withGracefulCancel<T>(act: (cancelRequested: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current();
  const cancelRequested = new AbortController();
  const over = new AbortController();
  context.cancelled.catch((error: unknown) => {
    const isByWorkflow = error instanceof CancelledFailure && error.message === BY_WORKFLOW;
    (isByWorkflow ? cancelRequested : over).abort(error);
  });
  const graceful = Object.create(context, { cancellationSignal: { value: over.signal } }) as Context;
  try {
    return await asyncLocalStorage.run(graceful, () => {
      // The first write needs the answer: meanwhile, the act can prepare that. It asks again if this fails.
      void ensureCurrentAttempt().catch(() => {});
      return act(cancelRequested.signal);
    });
  } finally {
    over.abort();
  }
}
