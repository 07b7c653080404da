import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { KubeError, KubeUnreachable, ActRefused } from '../../kubernetes/errors.ts';
import { withHeartbeat } from './heartbeat.ts';

/**
 * Turns Kubernetes' answer into the failure that Temporal's Web UI shows and that Temporal retries: its type is
 * Kubernetes' own reason, its retry delay what the server asked for.
 */
function asFailure(error: unknown): unknown {
  if (error instanceof KubeError || error instanceof ActRefused) {
    const { reason, message } = error;
    const retryAfterMs = error instanceof KubeError ? error.retryAfterMs : undefined;
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

/** Returns the same activities, each with a heartbeat, and throwing what `asFailure` makes of its errors. */
export function withFailures<A extends Record<string, (...args: never[]) => Promise<unknown>>>(activities: A): A {
  const wrapped = Object.entries(activities).map(([name, activity]) => [
    name,
    async (...args: never[]) => {
      try {
        return await withHeartbeat(() => activity(...args));
      } catch (error) {
        throw asFailure(error);
      }
    },
  ]);
  return Object.fromEntries(wrapped) as A;
}

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;

/**
 * The same for activities that only wait, whose retries Temporal doesn't delay more and more: their attempts end with
 * their workers, however many. One that fails by itself says how long to wait, unless its failure does.
 */
export function withWaitFailures<A extends Record<string, (...args: never[]) => Promise<unknown>>>(activities: A): A {
  const wrapped = Object.entries(withFailures(activities)).map(([name, activity]) => [
    name,
    (...args: never[]) => activity(...args).catch((error: unknown) => Promise.reject(delayed(error))),
  ]);
  return Object.fromEntries(wrapped) as A;
}

function delayed(error: unknown): unknown {
  if (error instanceof CancelledFailure || !(error instanceof Error)) return error;
  if (error instanceof ApplicationFailure && (error.nextRetryDelay != null || error.nonRetryable === true))
    return error;
  const nextRetryDelay = Math.min(FIRST_DELAY_MS * 2 ** (Context.current().info.attempt - 1), LONGEST_DELAY_MS);
  const type = error instanceof ApplicationFailure ? error.type : error.name;
  return ApplicationFailure.create({ type: type ?? 'Error', message: error.message, cause: error, nextRetryDelay });
}
