import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ActivityCancelledError, ActivityNotFoundError, ActivityPausedError, type Client } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { ageOf, clocks } from '../../kubernetes/lib/clocks.ts';

/**
 * Less than the shortest heartbeat timeout: an attempt that Temporal knew to be alive this recently has no successor
 * yet.
 */
const FRESH_MS = 4_000;
/** What begins at the same time shares an answer that is this old. */
const SHARED_MS = 50;
const ANSWER_WITHIN_MS = 5_000;
const TRIES = 3;

interface Attempt {
  /** When the latest question was asked that Temporal has answered with yes. */
  confirmed: ReturnType<typeof clocks> | null;
  pending: Promise<void> | null;
}

const attempts = new WeakMap<Context, Attempt>();

/**
 * Throws unless Temporal has confirmed within the last seconds that this attempt of the activity is still the current
 * one. A worker that was suspended, or cut off from Temporal, may have been given up: another attempt may have acted
 * since on newer state, and this attempt must not overwrite that. Does nothing outside an activity.
 */
export const ensureCurrentAttempt = (): Promise<void> => ensureConfirmed(FRESH_MS);

/**
 * Reports whether the workflow has cancelled this activity: Temporal is asked now, since heartbeats, which report it,
 * are throttled. Throws as `ensureCurrentAttempt` does.
 */
export async function isCancelRequested(): Promise<boolean> {
  try {
    await ensureConfirmed(SHARED_MS);
    return false;
  } catch (error) {
    if (error instanceof CancelledFailure) return true;
    throw error;
  }
}

async function ensureConfirmed(freshMs: number): Promise<void> {
  const context = currentContext();
  const client = context && clientOf(context);
  if (context === undefined || client === undefined || context.info.isLocal) return;
  const attempt = attempts.get(context) ?? { confirmed: null, pending: null };
  attempts.set(context, attempt);
  // An answer may have been waiting for as long as the process was suspended.
  for (let tries = 0; !isFresh(attempt, freshMs); tries++) {
    if (tries === TRIES) throw givenUp('Temporal has not confirmed in time that this attempt is still the current one');
    attempt.pending ??= confirm(context, client, attempt).finally(() => (attempt.pending = null));
    await attempt.pending;
  }
}

const isFresh = ({ confirmed }: Attempt, freshMs: number): boolean => confirmed !== null && ageOf(confirmed) < freshMs;

async function confirm({ info }: Context, client: Client, attempt: Attempt): Promise<void> {
  const sentAt = clocks();
  const late = new AbortController();
  try {
    const silence = sleep(ANSWER_WITHIN_MS, undefined, { signal: late.signal }).then(() =>
      Promise.reject(new Error('no answer')),
    );
    await Promise.race([client.activity.heartbeat(info.taskToken), silence]);
    attempt.confirmed = sentAt;
  } catch (error) {
    if (error instanceof ActivityCancelledError) throw new CancelledFailure('the activity was asked to end');
    if (error instanceof ActivityNotFoundError)
      throw givenUp('Temporal has given this attempt up: another may have taken its place');
    if (error instanceof ActivityPausedError) attempt.confirmed = sentAt;
    else
      throw givenUp(`Temporal does not say whether this attempt is still the current one: ${(error as Error).message}`);
  } finally {
    late.abort();
  }
}

const givenUp = (message: string): ApplicationFailure => ApplicationFailure.create({ type: 'AttemptGivenUp', message });

/** Ends calls that an activity makes once it is cancelled; undefined outside an activity. */
export const callSignal = (): AbortSignal | undefined => currentContext()?.cancellationSignal;

function currentContext(): Context | undefined {
  try {
    return Context.current();
  } catch {
    return undefined;
  }
}

/** Returns undefined in a test environment without Temporal. */
function clientOf(context: Context): Client | undefined {
  try {
    return context.client;
  } catch {
    return undefined;
  }
}
