import { readFailure } from '../../workers/connection/read-failure.ts';
import { mapAtOnce } from '../cli/at-once.ts';
import type { Session } from '../session/session.ts';
import { workersIn } from '../session/workers.ts';

/** Of closed workflows, the newest tell most. */
const MOST_CLOSED = 500;
const MOST_DESCRIBED = 200;
const AT_ONCE = 8;

interface WorkflowSummary {
  id: string;
  runId: string;
  type: string;
  status: string;
  startTime: string;
  closeTime?: string;
  historyLength: number;
  /** Activities that wait or are tried again, with their last failure. */
  pendingActivities?: { type: string; attempt: number; state: string; failure?: string }[];
}

/** Returns what Temporal lists of drover's workflows of the cluster, without what they were given or have said. */
export async function workflowsOf(session: Session, namespace: string | undefined): Promise<WorkflowSummary[]> {
  const { client } = await session.temporal();
  const of = `DroverCluster = '${await workersIn(session)}'${namespace === undefined ? '' : ` AND DroverNamespace = '${namespace}'`}`;
  const [running, closed] = await Promise.all([
    listed(session, `${of} AND ExecutionStatus = 'Running'`, Infinity),
    listed(session, `${of} AND ExecutionStatus != 'Running'`, MOST_CLOSED),
  ]);
  await mapAtOnce(running.slice(0, MOST_DESCRIBED), AT_ONCE, async (one) => {
    const { raw } = await client.workflow.getHandle(one.id, one.runId).describe();
    one.pendingActivities = await Promise.all(
      (raw.pendingActivities ?? []).map(async ({ activityType, attempt, state, lastFailure }) => {
        const failure = await readFailure(client, lastFailure);
        return {
          type: activityType?.name ?? '',
          attempt: attempt ?? 0,
          state: String(state),
          ...(failure === undefined ? {} : { failure: failure.message }),
        };
      }),
    );
  });
  return [...running, ...closed];
}

async function listed(session: Session, query: string, most: number): Promise<WorkflowSummary[]> {
  const { client } = await session.temporal();
  const found: WorkflowSummary[] = [];
  for await (const { workflowId, runId, type, status, startTime, closeTime, historyLength } of client.workflow.list({
    query,
  })) {
    if (found.length >= most) break;
    found.push({
      id: workflowId,
      runId,
      type,
      status: status.name,
      startTime: startTime.toISOString(),
      ...(closeTime === undefined ? {} : { closeTime: closeTime.toISOString() }),
      historyLength,
    });
  }
  return found;
}
