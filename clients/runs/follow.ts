import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import type { QueryDefinition } from '@temporalio/common';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { Live } from '../cli/live.ts';
import { note } from '../cli/output.ts';
import type { Session } from '../session/session.ts';
import { isWorkflowNotFound } from '../session/temporal.ts';
import { askProgress } from './progress.ts';
import { recentErrorLines, recentErrorsOf } from './recent-errors.ts';

const ASK_MS = 1_000;

/** A kind of workflow that people start and watch. */
export interface Followed<P> {
  query: QueryDefinition<P>;
  /** Describes its state in a few lines. */
  lines: (id: string, progress: P) => string[];
  /** Names commands that show and end it, for a person who stops watching. */
  commands: (id: string) => string;
  /** Reports whether watching may end although the workflow goes on; by default it is shown until it is over. */
  until?: (progress: P) => boolean;
  /**
   * Returns the error to throw for a failed workflow; without it, or if it returns undefined, the workflow counts as
   * ended from outside.
   */
  failureOf?: (cause: unknown) => Error | undefined;
}

/**
 * Shows the workflow until it is over, and returns its result, or its progress once `until` holds. Ctrl-C leaves the
 * workflow running. Throws `Failure` if the workflow has no result.
 */
export async function followRun<P>(session: Session, handle: WorkflowHandle, followed: Followed<P>): Promise<P> {
  const { workflowId: id } = handle;
  process.prependOnceListener('SIGINT', () => note(`\n${id} goes on: ${followed.commands(id)}`));
  const live = new Live();
  const over = new AbortController();
  const seen = new AbortController();
  try {
    const result = resultOf<P>(session, handle, { followed, signal: seen.signal }).finally(() => over.abort());
    // Avoids an unhandled rejection: `result` is awaited below only if `until` does not hold first.
    result.catch(() => undefined);
    const last = await draw(session, handle, { followed, live, over: over.signal });
    if (last !== null) return last;
    const end = await result;
    live.draw(followed.lines(id, end));
    return end;
  } finally {
    seen.abort();
    live.end();
  }
}

/** Waits for the workflow's result. Throws `Failure` if it has none. */
export async function resultOf<P>(
  session: Session,
  handle: WorkflowHandle,
  { followed, signal }: { followed: Pick<Followed<P>, 'failureOf'>; signal: AbortSignal },
): Promise<P> {
  const { connection } = await session.temporal();
  try {
    return (await session.untilAnswered(connection.withAbortSignal(signal, () => handle.result()))) as P;
  } catch (error) {
    const { workflowId: id } = handle;
    if (isWorkflowNotFound(error)) throw new Failure(`there is no ${id}`, { cause: error });
    const isEnded = error instanceof WorkflowFailedError;
    const own = isEnded ? followed.failureOf?.(error.cause) : undefined;
    if (own !== undefined) throw own;
    const how = isEnded
      ? `was ended from outside: ${sentenceOf(error.cause ?? error)}`
      : `goes on, and can't be followed: ${sentenceOf(error)}`;
    throw new Failure(`${id} ${how}`, { cause: error });
  }
}

/** Returns null once the workflow is over, or the progress for which `until` holds. */
async function draw<P>(
  session: Session,
  handle: WorkflowHandle,
  { followed, live, over }: { followed: Followed<P>; live: Live; over: AbortSignal },
): Promise<P | null> {
  const { query, lines, until = () => false } = followed;
  let problem = '';
  while (!over.aborted) {
    try {
      const [progress, recentErrors] = await Promise.all([
        askProgress(session, handle, query),
        recentErrorsOf(session, handle),
      ]);
      live.draw([...lines(handle.workflowId, progress), ...recentErrorLines(recentErrors)]);
      if (until(progress)) return progress;
    } catch (error) {
      const said = sentenceOf(error);
      // `result` reports a missing workflow already.
      const isReported = isWorkflowNotFound((error as Error).cause);
      if (said !== problem && !isReported && !over.aborted) note(said);
      problem = said;
    }
    await sleep(ASK_MS, undefined, { signal: over }).catch(() => undefined);
  }
  return null;
}
