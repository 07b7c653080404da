import type { WorkflowHandle } from '@temporalio/client';
import type { QueryDefinition } from '@temporalio/common';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { missingWorkers } from '../session/missing-workers.ts';
import type { Session } from '../session/session.ts';
import { isWorkflowNotFound } from '../session/temporal.ts';

/** Milliseconds, after which the query is sent again: a worker that died takes its queries with it. */
const ANSWER_MS = 5_000;

/** How a run ended without a result, from outside; null if it did not. */
export const endedFromOutside = (status: string): string | null =>
  ['RUNNING', 'COMPLETED', 'FAILED'].includes(status)
    ? null
    : `ended from outside (${status.toLowerCase().replace('_', ' ')}): nothing of it goes on`;

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
