import { ApplicationFailure, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import type { QueryDefinition } from '@temporalio/common';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { missingWorkers } from '../session/missing-workers.ts';
import type { Session } from '../session/session.ts';
import { isWorkflowNotFound } from '../session/temporal.ts';

/** Milliseconds, after which the query is sent again: a worker that died takes its queries with it. */
const ANSWER_MS = 5_000;

/** Queries the progress of a workflow that a user started. Throws `Failure` if no worker answers. */
export async function queryProgress<P>(
  session: Session,
  handle: WorkflowHandle,
  query: QueryDefinition<P>,
): Promise<P> {
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
      throw new Failure(`${id} is still running, and can't be followed: ${sentenceOf(error)}`, { cause: error });
    const { cause } = error;
    throw cause instanceof ApplicationFailure && cause.type === 'Refused'
      ? new Failure(`refused: ${cause.message}`, { cause })
      : new Failure(`${id} was ended from outside: ${sentenceOf(cause ?? error)}`, { cause: error });
  }
}
