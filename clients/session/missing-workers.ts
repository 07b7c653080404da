import { taskQueueOf } from '../../workflows/lib/messages.ts';
import { sentenceOf } from '../cli/failure.ts';
import type { Session } from './session.ts';

const DEADLINE_MS = 2_000;
/** A worker polls again every minute; Temporal still lists it for minutes after it has died. */
const POLL_MS = 75_000;

/** Returns one sentence if no worker serves the cluster, or if that is unknown; otherwise undefined. */
export async function missingWorkers(session: Session): Promise<string | undefined> {
  const name = taskQueueOf(session.cluster);
  try {
    const { connection, namespace } = await session.temporal();
    const asking = (): ReturnType<typeof connection.workflowService.describeTaskQueue> =>
      connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name } });
    const { pollers } = await connection.withDeadline(Date.now() + DEADLINE_MS, asking);
    if (pollers?.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds) * 1000 > Date.now() - POLL_MS))
      return undefined;
    return `no drover worker polls the task queue ${name}: nothing happens until one does; \`drover worker\` starts one`;
  } catch (error) {
    return `whether a drover worker runs is not known: ${sentenceOf(error)}`;
  }
}
