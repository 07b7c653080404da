import { GrpcCode, grpcCodeOf } from './temporal.ts';
import { poolIdOf, type PoolProgress } from '../workflows/messages.ts';
import { sentenceOf } from './failure.ts';
import type { Session } from './session.ts';

/** What a pool's workflow answers, or why it is not known. */
export type Progress = { known: true; progress: PoolProgress } | { known: false; why: string };

const DEADLINE_MS = 3_000;

/** Asks the pool's workflow what is under way. Never throws: a pool can be looked at without Temporal. */
export async function readProgress(session: Session, namespace: string, name: string): Promise<Progress> {
  try {
    const { client, connection } = await session.temporal();
    const handle = client.workflow.getHandle(poolIdOf({ cluster: session.cluster, namespace, name }));
    const query = handle.query.bind<typeof handle, ['progress'], [], Promise<PoolProgress>>(handle, 'progress');
    return { known: true, progress: await session.untilAnswered(connection.withDeadline(Date.now() + DEADLINE_MS, query)) };
  } catch (error) {
    return { known: false, why: whyNot(error) };
  }
}

function whyNot(error: unknown): string {
  const code = grpcCodeOf(error);
  if (code === GrpcCode.NOT_FOUND || (error as Error).name === 'WorkflowNotFoundError') return 'no workflow has taken it up yet';
  if (code === GrpcCode.DEADLINE_EXCEEDED) return 'its workflow does not answer: does a `drover worker` run?';
  return sentenceOf(error);
}

/** The page of Temporal's Web UI that shows the pool's workflow. */
export async function workflowUrl(session: Session, workflowId: string): Promise<string | undefined> {
  const ui = await session.temporalUi();
  if (ui === undefined) return undefined;
  const { namespace } = await session.temporal();
  return `${ui}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}
