import { POOL_FINALIZER } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import { poolIdOf, type PoolProgress } from '../../workflows/messages.ts';
import type { Pool } from '../pools/objects.ts';
import type { Session } from '../session/session.ts';
import { GrpcCode, grpcCodeOf } from '../session/temporal.ts';
import { sentenceOf } from './failure.ts';

/** The answer of a pool's workflow, or why it is unknown. */
export type Progress =
  | { known: true; progress: PoolProgress }
  /** `hasNoWorkflow`: Temporal answered that no workflow manages the pool. */
  | { known: false; why: string; hasNoWorkflow?: true };

const DEADLINE_MS = 3_000;

/** Asks the pool's workflow what is in progress. Never throws: a pool can be looked at without Temporal. */
export async function readProgress(session: Session, pool: Stored<Pool>): Promise<Progress> {
  const { namespace = '', name } = pool.metadata;
  try {
    const { client, connection } = await session.temporal();
    const handle = client.workflow.getHandle(poolIdOf({ cluster: session.cluster, namespace, name }));
    const query = handle.query.bind<typeof handle, ['progress'], [], Promise<PoolProgress>>(handle, 'progress');
    return {
      known: true,
      progress: await session.untilAnswered(connection.withDeadline(Date.now() + DEADLINE_MS, query)),
    };
  } catch (error) {
    if (isMissing(error)) return isTakenUp(pool) ? notLed : noWorkflow;
    return { known: false, why: whyNot(error) };
  }
}

const noWorkflow: Progress = { known: false, why: 'no workflow has taken it up yet', hasNoWorkflow: true };

const notLed: Progress = { known: false, why: 'no workflow leads it now; a worker starts one when the pool changes' };

/** False if the answer dates from before the pool was taken up, and so says nothing about the pool as it is now. */
export const isCurrent = (answer: Progress, pool: Stored<Pool>): boolean =>
  answer.known || answer.hasNoWorkflow !== true || !isTakenUp(pool);

const isTakenUp = ({ metadata, status }: Stored<Pool>): boolean =>
  status !== undefined || metadata.finalizers?.includes(POOL_FINALIZER) === true;

const isMissing = (error: unknown): boolean =>
  grpcCodeOf(error) === GrpcCode.NOT_FOUND || (error as Error).name === 'WorkflowNotFoundError';

function whyNot(error: unknown): string {
  const code = grpcCodeOf(error);
  if (code === GrpcCode.DEADLINE_EXCEEDED) return 'its workflow does not answer: does a `drover worker` run?';
  return sentenceOf(error);
}

/** Returns the URL of a workflow in Temporal's Web UI; undefined if the address of the UI is unknown. */
export async function workflowUrl(session: Session, workflowId: string): Promise<string | undefined> {
  const ui = await session.temporalUi();
  if (ui === undefined) return undefined;
  const { namespace } = await session.temporal();
  return `${ui}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}
