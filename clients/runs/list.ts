import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { DroverPhase } from '../../workflows/search-attributes.ts';
import type { Session } from '../session/session.ts';
import { aboutSetup } from '../session/temporal.ts';

/** Memo of every workflow that a person starts, for lists. */
export interface RunMemo extends Record<string, unknown> {
  requestedBy: string;
  reason: string | null;
  /** RFC 3339: start of the first run. Later runs (continue-as-new) have later start times. */
  begunAt: string;
}

/** A workflow that a person started, as Temporal lists it. */
export interface ListedRun<Memo extends RunMemo = RunMemo> {
  id: string;
  phase: string;
  /** RFC 3339. */
  startedAt: string;
  memo: Partial<Memo>;
}

const MAX_LISTED = 200;
/** Milliseconds to wait: Temporal lists new workflows with a delay. */
const LISTED_MS = 5_000;
const ASK_MS = 100;

/**
 * Lists this cluster's workflows of one type that Temporal still has, the newest first. Throws `Failure` if Temporal is
 * not set up.
 */
export async function listRuns<Memo extends RunMemo>(
  session: Session,
  type: string,
  { onlyRunning = false } = {},
): Promise<ListedRun<Memo>[]> {
  const { client } = await session.temporal();
  const which = onlyRunning ? "ExecutionStatus = 'Running'" : "ExecutionStatus != 'ContinuedAsNew'";
  const query = `WorkflowType = '${type}' AND DroverCluster = '${session.cluster}' AND ${which}`;
  const found: ListedRun<Memo>[] = [];
  try {
    for await (const run of client.workflow.list({ query })) {
      found.push(listed<Memo>(run));
      if (found.length === MAX_LISTED) break;
    }
  } catch (error) {
    throw aboutSetup(error);
  }
  return found.sort((one, other) => other.startedAt.localeCompare(one.startedAt));
}

function listed<Memo extends RunMemo>({
  workflowId: id,
  status,
  startTime,
  memo,
  typedSearchAttributes,
}: WorkflowExecutionInfo): ListedRun<Memo> {
  const said = typedSearchAttributes.get(DroverPhase) ?? '<unknown>';
  const saysItself = status.name === 'RUNNING' || status.name === 'COMPLETED' || said === 'Refused';
  const carried = (memo ?? {}) as Partial<Memo>;
  return {
    id,
    phase: saysItself ? said : 'Terminated',
    startedAt: carried.begunAt ?? startTime.toISOString(),
    memo: carried,
  };
}

/**
 * Resolves once Temporal lists a workflow that was just started, so that the next command finds it as the newest; or
 * after some seconds.
 */
export async function waitUntilListed(session: Session, id: string): Promise<void> {
  const { client } = await session.temporal();
  const end = Date.now() + LISTED_MS;
  while (Date.now() < end) {
    // The workflow was started, even if it can't be counted.
    const { count } = await client.workflow.count(`WorkflowId = '${id}'`).catch(() => ({ count: 1 }));
    if (count > 0) return;
    await sleep(ASK_MS);
  }
}
