import type { WorkflowHandle } from '@temporalio/client';
import { ACTION_LABELS } from '../../decisions/power/action.ts';
import { powerIdOf } from '../../workflows/messages.ts';
import { ageOf, note, print, table } from '../cli/output.ts';
import { printData, type DataFormat } from '../rollout/data.ts';
import { listRuns } from '../runs/list.ts';
import { signalRun, type RunSignal } from '../runs/signal.ts';
import { wholeIdOf } from '../runs/whole-id.ts';
import type { Session } from '../session/session.ts';
import type { PowerMemo } from './begin.ts';

/** A run as Temporal lists it; `-o json` prints it as is. */
export interface ListedPowerRun {
  id: string;
  action: string;
  phase: string;
  vms: number;
  /** RFC 3339. */
  startedAt: string;
  requestedBy: string;
  reason: string | null;
}

/** The runs that Temporal still has, the newest first. */
export async function listPowerRuns(session: Session): Promise<ListedPowerRun[]> {
  const runs = await listRuns<PowerMemo>(session, 'powerVms');
  return runs.map(({ id, phase, startedAt, memo: { action, vms = 0, requestedBy = '<unknown>', reason = null } }) => ({
    id,
    action: action === undefined ? '<unknown>' : ACTION_LABELS[action].verb,
    phase,
    vms,
    startedAt,
    requestedBy,
    reason,
  }));
}

export async function printPowerRuns(found: ListedPowerRun[], output?: DataFormat): Promise<void> {
  if (output !== undefined) return printData({ items: found }, output);
  if (found.length === 0) return note('no runs');
  const rows = found.map(({ id, action, phase, vms, startedAt, requestedBy, reason }) => [
    id,
    action,
    phase,
    vms,
    ageOf(startedAt),
    requestedBy,
    reason ?? '<none>',
  ]);
  print(table(['ID', 'ACTION', 'PHASE', 'VMS', 'AGE', 'REQUESTED BY', 'REASON'], rows).join('\n'));
}

/** Returns the whole id of a run, given that or its last part. */
const wholeId = (session: Session, id: string): string =>
  wholeIdOf(session, id, { idOf: powerIdOf, kind: 'run of VMs' });

export async function powerRunOf(session: Session, id: string): Promise<WorkflowHandle> {
  const { client } = await session.temporal();
  return client.workflow.getHandle(wholeId(session, id));
}

/** Signals a run, and returns its whole id. Throws `Failure` if none with this id runs. */
export async function signalPowerRun(
  session: Session,
  id: string,
  signal: RunSignal,
  reason?: string,
): Promise<string> {
  const whole = wholeId(session, id);
  await signalRun(session, whole, signal, { reason, lists: 'drover vm runs' });
  return whole;
}
