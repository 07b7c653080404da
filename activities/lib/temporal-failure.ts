import { ApplicationFailure } from '@temporalio/common';
import { KubeError, KubeUnreachable } from '../../kubernetes/errors.ts';

/**
 * Turns Kubernetes' answer into the failure that Temporal's Web UI shows and that Temporal retries: its type is
 * Kubernetes' own reason, its retry delay what the server asked for.
 */
export function asFailure(error: unknown): unknown {
  if (error instanceof KubeError) {
    const { reason, message, retryAfterMs } = error;
    return ApplicationFailure.create({
      type: reason,
      message,
      cause: error,
      ...(retryAfterMs === undefined ? {} : { nextRetryDelay: retryAfterMs }),
    });
  }
  if (error instanceof KubeUnreachable)
    return ApplicationFailure.create({ type: 'KubeUnreachable', message: error.message, cause: error });
  return error;
}

/** Returns the same activities, each throwing what `asFailure` makes of its errors. */
export function withFailures<A extends Record<string, (...args: never[]) => Promise<unknown>>>(activities: A): A {
  const wrapped = Object.entries(activities).map(([name, activity]) => [
    name,
    async (...args: never[]) => {
      try {
        return await activity(...args);
      } catch (error) {
        throw asFailure(error);
      }
    },
  ]);
  return Object.fromEntries(wrapped) as A;
}
