import { taskQueueOf } from '../../workflows/lib/messages.ts';
import type { Session } from './session.ts';

const DEADLINE_MS = 2_000;
/** A worker polls again every minute; Temporal still lists it for minutes after it has died. */
const POLL_MS = 75_000;

export interface Poller {
  identity: string;
  /** Of drover; null if the worker does not say. */
  version: string | null;
}

/** Returns those of these workers that poll their task queue. Throws if Temporal does not answer within 2 seconds. */
export async function pollersOf(session: Session, workers: string): Promise<Poller[]> {
  const { connection, namespace } = await session.temporal();
  const name = taskQueueOf(workers);
  const asking = connection.withDeadline(Date.now() + DEADLINE_MS, () =>
    connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name } }),
  );
  const { pollers } = await session.untilAnswered(asking);
  return (pollers ?? [])
    .filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds) * 1000 > Date.now() - POLL_MS)
    .map(({ identity, deploymentOptions }) => ({
      identity: identity ?? '',
      version: deploymentOptions?.buildId || null,
    }));
}
