import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { RunProgress } from '../../decisions/runs/progress.ts';
import { DroverPhase } from '../../workflows/lib/search-attributes.ts';
import { printData, type DataFormat } from '../cli/data.ts';
import { ageOf, note, print, table } from '../cli/output.ts';
import type { Session } from '../session/session.ts';
import { aboutSetup } from '../session/temporal.ts';
import { remarkOnCluster } from '../session/unknown-cluster.ts';
import type { RunKind, RunMemo } from './kind.ts';

/** A workflow that a person started, as Temporal lists it; `-o json` prints it as is. */
export interface ListedRun {
  id: string;
  phase: string;
  /** RFC 3339. */
  startedAt: string;
  requestedBy: string;
  reason: string | null;
}

const MAX_LISTED = 200;
/** Milliseconds to wait: Temporal lists new workflows with a delay. */
const LISTED_MS = 5_000;
const ASK_MS = 100;

/**
 * Lists this cluster's workflows of one kind that Temporal still has, the newest first. Throws `Failure` if Temporal is
 * not set up.
 */
export async function listRuns<P extends RunProgress, Listed extends object>(
  session: Session,
  kind: RunKind<P, Listed>,
  { onlyRunning = false } = {},
): Promise<(ListedRun & Listed)[]> {
  const { client } = await session.temporal();
  const which = onlyRunning ? "ExecutionStatus = 'Running'" : "ExecutionStatus != 'ContinuedAsNew'";
  const query = `WorkflowType = '${kind.workflowType}' AND DroverCluster = '${session.cluster}' AND ${which}`;
  const found: (ListedRun & Listed)[] = [];
  try {
    for await (const run of client.workflow.list({ query })) {
      found.push({ ...listed(run), ...kind.listed((run.memo ?? {}) as Partial<Listed>) });
      if (found.length === MAX_LISTED) break;
    }
  } catch (error) {
    throw aboutSetup(error);
  }
  return found.sort((one, other) => other.startedAt.localeCompare(one.startedAt));
}

function listed({ workflowId: id, status, startTime, memo, typedSearchAttributes }: WorkflowExecutionInfo): ListedRun {
  const said = typedSearchAttributes.get(DroverPhase) ?? '<unknown>';
  const saysItself = status.name === 'RUNNING' || status.name === 'COMPLETED' || said === 'Refused';
  const carried = (memo ?? {}) as Partial<RunMemo>;
  return {
    id,
    phase: saysItself ? said : 'Terminated',
    startedAt: carried.begunAt ?? startTime.toISOString(),
    requestedBy: carried.requestedBy ?? '<unknown>',
    reason: carried.reason ?? null,
  };
}

export async function printRuns<P extends RunProgress, Listed extends object>(
  session: Session,
  kind: RunKind<P, Listed>,
  output?: DataFormat,
): Promise<void> {
  const found = await listRuns(session, kind);
  if (found.length === 0) await remarkOnCluster(session);
  if (output !== undefined) return printData({ items: found }, output);
  if (found.length === 0) return note(`there is no ${kind.noun}`);
  const rows = found.map((run) => [
    run.id,
    run.phase,
    ...kind.cellsOf(run),
    ageOf(run.startedAt),
    run.requestedBy,
    run.reason ?? '<none>',
  ]);
  print(table(['ID', 'PHASE', ...kind.columns, 'AGE', 'REQUESTED BY', 'REASON'], rows).join('\n'));
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
