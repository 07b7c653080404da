import type { WorkflowHandle } from '@temporalio/client';
import { abort, pause, restartIdOf, resume } from '../../workflows/messages.ts';
import { DroverPhase } from '../../workflows/search-attributes.ts';
import { askedBy } from '../asked-by.ts';
import { Failure } from '../failure.ts';
import { ageOf, note, print, table } from '../output.ts';
import { printData, type DataFormat } from '../rollout/data.ts';
import type { Session } from '../session.ts';
import { GrpcCode, grpcCodeOf } from '../temporal.ts';
import type { RestartMemo } from './restart.ts';

/** A restart as Temporal lists it; `-o json` prints it as it is. */
export interface ListedRestart {
  id: string;
  phase: string;
  vms: number;
  /** RFC 3339. */
  startedAt: string;
  askedBy: string;
  reason: string | null;
}

const MOST_LISTED = 200;

/** The restarts that Temporal keeps, the newest first. */
export async function listRestarts(session: Session): Promise<ListedRestart[]> {
  const { client } = await session.temporal();
  const query = `WorkflowType = 'restartVms' AND DroverCluster = '${session.cluster}' AND ExecutionStatus != 'ContinuedAsNew'`;
  const found: ListedRestart[] = [];
  for await (const { workflowId: id, status, startTime, memo, typedSearchAttributes } of client.workflow.list({ query })) {
    const { vms = 0, askedBy = '<unknown>', reason = null } = (memo ?? {}) as Partial<RestartMemo>;
    const saysItself = status.name === 'RUNNING' || status.name === 'COMPLETED';
    const phase = saysItself ? (typedSearchAttributes.get(DroverPhase) ?? '<unknown>') : 'Terminated';
    found.push({ id, phase, vms, startedAt: startTime.toISOString(), askedBy, reason });
    if (found.length === MOST_LISTED) break;
  }
  return found.sort((one, other) => other.startedAt.localeCompare(one.startedAt));
}

export async function printRestarts(restarts: ListedRestart[], output?: DataFormat): Promise<void> {
  if (output !== undefined) return printData({ items: restarts }, output);
  if (restarts.length === 0) return note('no restarts');
  const rows = restarts.map(({ id, phase, vms, startedAt, askedBy, reason }) => [id, phase, vms, ageOf(startedAt), askedBy, reason ?? '<none>']);
  print(table(['ID', 'PHASE', 'VMS', 'AGE', 'ASKED BY', 'REASON'], rows).join('\n'));
}

/** By its whole id, or by the last part of it. */
export async function restartOf(session: Session, id: string): Promise<WorkflowHandle> {
  const { client } = await session.temporal();
  return client.workflow.getHandle(id.includes('/') ? id : restartIdOf(session.cluster, id));
}

const SIGNALS = { pause, resume, abort };
export type RestartSignal = keyof typeof SIGNALS;

/** Asks a restart for something. Throws `Failure` where none of that id runs. */
export async function signalRestart(session: Session, id: string, signal: RestartSignal, reason?: string): Promise<string> {
  const handle = await restartOf(session, id);
  const { workflowId } = handle;
  try {
    await handle.signal(SIGNALS[signal], { by: askedBy(), ...(reason === undefined ? {} : { why: reason }) });
  } catch (error) {
    const isUnknown = grpcCodeOf(error) === GrpcCode.NOT_FOUND || (error as Error).name === 'WorkflowNotFoundError';
    throw isUnknown ? new Failure(`no ${workflowId} runs: \`drover vm restarts\` lists those there are`, { cause: error }) : error;
  }
  return workflowId;
}
