import { DroverPhase } from '../../workflows/search-attributes.ts';
import type { Session } from '../session.ts';

/** A workflow that a person has begun, as Temporal lists it. */
export interface ListedRun<Memo> {
  id: string;
  phase: string;
  isRunning: boolean;
  /** RFC 3339. */
  startedAt: string;
  memo: Partial<Memo>;
}

const MOST_LISTED = 200;

/** Those of one type that Temporal keeps of this cluster, the newest first. */
export async function listRuns<Memo>(session: Session, type: string): Promise<ListedRun<Memo>[]> {
  const { client } = await session.temporal();
  const query = `WorkflowType = '${type}' AND DroverCluster = '${session.cluster}' AND ExecutionStatus != 'ContinuedAsNew'`;
  const found: ListedRun<Memo>[] = [];
  for await (const { workflowId: id, status, startTime, memo, typedSearchAttributes } of client.workflow.list({ query })) {
    const said = typedSearchAttributes.get(DroverPhase) ?? '<unknown>';
    const saysItself = status.name === 'RUNNING' || status.name === 'COMPLETED' || said === 'Refused';
    const startedAt = startTime.toISOString();
    found.push({ id, phase: saysItself ? said : 'Terminated', isRunning: status.name === 'RUNNING', startedAt, memo: (memo ?? {}) as Partial<Memo> });
    if (found.length === MOST_LISTED) break;
  }
  return found.sort((one, other) => other.startedAt.localeCompare(one.startedAt));
}
