import type { WorkflowHandle } from '@temporalio/client';
import { restartIdOf } from '../../workflows/messages.ts';
import { ageOf, note, print, table } from '../cli/output.ts';
import { printData, type DataFormat } from '../rollout/data.ts';
import { listRuns } from '../runs/list.ts';
import { signalRun, type RunSignal } from '../runs/signal.ts';
import { wholeIdOf } from '../runs/whole-id.ts';
import type { Session } from '../session/session.ts';
import type { RestartMemo } from './restart.ts';

/** A restart as Temporal lists it; `-o json` prints it as is. */
export interface ListedRestart {
  id: string;
  phase: string;
  vms: number;
  /** RFC 3339. */
  startedAt: string;
  askedBy: string;
  reason: string | null;
}

/** The restarts that Temporal still has, the newest first. */
export async function listRestarts(session: Session): Promise<ListedRestart[]> {
  const runs = await listRuns<RestartMemo>(session, 'restartVms');
  return runs.map(({ id, phase, startedAt, memo: { vms = 0, askedBy = '<unknown>', reason = null } }) => ({
    id,
    phase,
    vms,
    startedAt,
    askedBy,
    reason,
  }));
}

export async function printRestarts(restarts: ListedRestart[], output?: DataFormat): Promise<void> {
  if (output !== undefined) return printData({ items: restarts }, output);
  if (restarts.length === 0) return note('no restarts');
  const rows = restarts.map(({ id, phase, vms, startedAt, askedBy, reason }) => [
    id,
    phase,
    vms,
    ageOf(startedAt),
    askedBy,
    reason ?? '<none>',
  ]);
  print(table(['ID', 'PHASE', 'VMS', 'AGE', 'ASKED BY', 'REASON'], rows).join('\n'));
}

/** Returns the whole id of a restart, given that or its last part. */
const wholeId = (session: Session, id: string): string =>
  wholeIdOf(session, id, { idOf: restartIdOf, kind: 'restart' });

export async function restartOf(session: Session, id: string): Promise<WorkflowHandle> {
  const { client } = await session.temporal();
  return client.workflow.getHandle(wholeId(session, id));
}

/** Signals a restart, and returns its whole id. Throws `Failure` if none with this id runs. */
export async function signalRestart(session: Session, id: string, signal: RunSignal, reason?: string): Promise<string> {
  const whole = wholeId(session, id);
  await signalRun(session, whole, signal, { reason, lists: 'drover vm restarts' });
  return whole;
}
