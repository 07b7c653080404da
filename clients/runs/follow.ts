import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError, WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client';
import type { QueryDefinition } from '@temporalio/common';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { Live } from '../cli/live.ts';
import { note } from '../cli/output.ts';
import type { Session } from '../session/session.ts';
import { askProgress } from './progress.ts';
import { troubleLines, troublesOf } from './troubles.ts';

const ASK_MS = 1_000;

/** A kind of workflow that a person has begun, and looks at. */
export interface Followed<P> {
  query: QueryDefinition<P>;
  /** How it stands, in a few lines. */
  lines: (id: string, progress: P) => string[];
  /** Commands that show and end it, for who stops looking. */
  commands: (id: string) => string;
  /** It goes on, and need not be looked at any longer; without, it is shown until it is over. */
  until?: (progress: P) => boolean;
  /** What a workflow that has failed says by that; without, that somebody has ended it from outside. */
  failureOf?: (cause: unknown) => Error | undefined;
}

/**
 * Shows it until it is over, and returns how it ended. Ctrl-C leaves it as it is. Throws `Failure` where it has no end
 * of its own.
 */
export async function followRun<P>(session: Session, handle: WorkflowHandle, followed: Followed<P>): Promise<P> {
  const { workflowId: id } = handle;
  process.prependOnceListener('SIGINT', () => note(`\n${id} goes on: ${followed.commands(id)}`));
  const live = new Live();
  const over = new AbortController();
  const seen = new AbortController();
  try {
    const result = resultOf<P>(session, handle, { followed, signal: seen.signal }).finally(() => over.abort());
    // Awaited below, unless what was waited for has been seen before.
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

/** How it ended. Throws `Failure` where it has no result. */
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
    if (error instanceof WorkflowNotFoundError) throw new Failure(`there is no ${id}`, { cause: error });
    const isEnded = error instanceof WorkflowFailedError;
    const own = isEnded ? followed.failureOf?.(error.cause) : undefined;
    if (own !== undefined) throw own;
    const how = isEnded
      ? `was ended from outside: ${sentenceOf(error.cause ?? error)}`
      : `goes on, and can't be followed: ${sentenceOf(error)}`;
    throw new Failure(`${id} ${how}`, { cause: error });
  }
}

/** Null once it is over; else what was waited for. */
async function draw<P>(
  session: Session,
  handle: WorkflowHandle,
  { followed, live, over }: { followed: Followed<P>; live: Live; over: AbortSignal },
): Promise<P | null> {
  const { query, lines, until = () => false } = followed;
  let trouble = '';
  while (!over.aborted) {
    try {
      const [progress, troubles] = await Promise.all([
        askProgress(session, handle, query),
        troublesOf(session, handle),
      ]);
      live.draw([...lines(handle.workflowId, progress), ...troubleLines(troubles)]);
      if (until(progress)) return progress;
    } catch (error) {
      const said = sentenceOf(error);
      // That there is none, its end tells.
      const isTold = (error as Error).cause instanceof WorkflowNotFoundError;
      if (said !== trouble && !isTold && !over.aborted) note(said);
      trouble = said;
    }
    await sleep(ASK_MS, undefined, { signal: over }).catch(() => undefined);
  }
  return null;
}
