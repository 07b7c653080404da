import { ApplicationFailure, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import type { QueryDefinition } from '@temporalio/common';
import type { RunProgress } from '../../decisions/runs/progress.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { missingWorkers } from '../session/missing-workers.ts';
import type { Session } from '../session/session.ts';
import { isWorkflowNotFound } from '../session/temporal.ts';
import type { RunKind } from './kind.ts';
import { recentErrorsOf } from './recent-errors.ts';

/** Milliseconds, after which the query is sent again: a worker that died takes its queries with it. */
const ANSWER_MS = 5_000;

/** State of a run; `-o json` prints it as is. */
export type RunStatus<P extends RunProgress> = P & {
  /** Why it ended without a result: refused, or ended from outside. Null if neither. */
  ended: string | null;
  /** What it keeps retrying without success, a sentence each. */
  recentErrors: string[];
};

/**
 * Returns how a run stands or ended; a completed one needs no worker to answer. Throws `Failure` if no worker answers.
 */
export async function readRun<P extends RunProgress, Listed extends object>(
  session: Session,
  { query, cutOff }: Pick<RunKind<P, Listed>, 'query' | 'cutOff'>,
  handle: WorkflowHandle,
): Promise<RunStatus<P>> {
  const { status } = await session.untilAnswered(handle.describe()).catch((error: unknown) => {
    throw isWorkflowNotFound(error) ? new Failure(`there is no ${handle.workflowId}`, { cause: error }) : error;
  });
  const asking = (): Promise<P> => askProgress(session, handle, query);
  if (status.name === 'RUNNING') {
    const [progress, recentErrors] = await Promise.all([asking(), recentErrorsOf(session, handle)]);
    return { ...progress, ended: null, recentErrors };
  }
  if (status.name === 'COMPLETED') {
    const end = await resultOf<P>(session, handle, new AbortController().signal);
    return { ...end, ended: null, recentErrors: [] };
  }
  if (status.name !== 'FAILED') {
    const progress = await asking();
    const how = `ended from outside (${status.name.toLowerCase().replace('_', ' ')}): nothing of it goes on`;
    return { ...progress, ended: [how, cutOff(progress)].filter(Boolean).join(', and '), recentErrors: [] };
  }
  const refusal = await resultOf(session, handle, new AbortController().signal).then(
    () => new Failure(`${handle.workflowId} has failed`),
    (error: Error) => error,
  );
  // Without a worker, at least report why it failed.
  const progress = await asking().catch(() => Promise.reject(refusal));
  return { ...progress, ended: refusal.message, recentErrors: [] };
}

/** Queries the progress of a workflow that a person started. Throws `Failure` if no worker answers. */
export async function askProgress<P>(session: Session, handle: WorkflowHandle, query: QueryDefinition<P>): Promise<P> {
  const { connection } = await session.temporal();
  const asking = (): Promise<P> => handle.query(query);
  try {
    return await session.untilAnswered(connection.withDeadline(Date.now() + ANSWER_MS, asking));
  } catch (error) {
    if (isWorkflowNotFound(error)) throw new Failure(`there is no ${handle.workflowId}`, { cause: error });
    throw new Failure((await missingWorkers(session)) ?? `${handle.workflowId} does not answer: ${sentenceOf(error)}`, {
      cause: error,
    });
  }
}

/** Waits for the workflow's result. Throws `Failure` if it has none. */
export async function resultOf<P>(session: Session, handle: WorkflowHandle, signal: AbortSignal): Promise<P> {
  const { connection } = await session.temporal();
  try {
    return (await session.untilAnswered(connection.withAbortSignal(signal, () => handle.result()))) as P;
  } catch (error) {
    const { workflowId: id } = handle;
    if (isWorkflowNotFound(error)) throw new Failure(`there is no ${id}`, { cause: error });
    if (!(error instanceof WorkflowFailedError))
      throw new Failure(`${id} goes on, and can't be followed: ${sentenceOf(error)}`, { cause: error });
    const { cause } = error;
    throw cause instanceof ApplicationFailure && cause.type === 'Refused'
      ? new Failure(`refused: ${cause.message}`, { cause })
      : new Failure(`${id} was ended from outside: ${sentenceOf(cause ?? error)}`, { cause: error });
  }
}
