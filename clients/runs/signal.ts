import { abort, pause, resume } from '../../workflows/lib/messages.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { note } from '../cli/output.ts';
import { missingWorkers } from '../session/missing-workers.ts';
import { requestedBy } from '../session/requester.ts';
import { ensureSameCluster } from '../session/same-cluster.ts';
import type { Session } from '../session/session.ts';
import { isWorkflowNotFound } from '../session/temporal.ts';

const SIGNALS = { pause, resume, abort };
export type RunSignal = keyof typeof SIGNALS;

/** Signals a run. Throws `Failure` if none with this id is in progress. */
export async function signalRun(
  session: Session,
  { command }: { command: string },
  id: string,
  signal: RunSignal,
  reason?: string,
): Promise<void> {
  const asking = { by: await requestedBy(() => session.kube()), ...(reason === undefined ? {} : { why: reason }) };
  const { client } = await session.temporal();
  await ensureSameCluster(session);
  await client.workflow
    .getHandle(id)
    .signal(SIGNALS[signal], asking)
    .catch((error: unknown) => {
      const why = isWorkflowNotFound(error)
        ? `no run ${id} is in progress: \`${command} list\` lists the runs that there are`
        : `${id} could not be asked: ${sentenceOf(error)}`;
      throw new Failure(why, { cause: error });
    });
  // Without a worker, the workflow receives the signal only once there is one.
  const missing = await missingWorkers(session);
  if (missing !== undefined) note(missing);
}
