import type { WorkflowHandle } from '@temporalio/client';
import type { Transition, TransitionPhase } from '../../decisions/machine-types/transition.ts';
import { VirtualMachinePools } from '../../kubernetes/resources.ts';
import { Failure, sentenceOf } from '../failure.ts';
import type { Pool } from '../fleet.ts';
import { ofKnownKind } from '../known-kind.ts';
import { note, print, table } from '../output.ts';
import { printData } from '../rollout/data.ts';
import type { Session } from '../session.ts';
import { readVms } from '../vm/running.ts';
import { readTransition } from './follow.ts';
import { cellsOf, csvOf, REPORT_COLUMNS, reportOf, type ReportRow } from './report.ts';
import { shortIdOf } from './transitions.ts';

export type ReportFormat = 'json' | 'csv';

/** What `-o json` prints. */
export interface Report {
  id: string;
  /** Null where Temporal does not tell. */
  phase: TransitionPhase | null;
  transition: Transition | null;
  items: ReportRow[];
}

/** Prints what a transition has done to each VM. Without Temporal's word it tells what the VMs carry of it. */
export async function printReport(session: Session, id: string, output?: ReportFormat): Promise<void> {
  const { client } = await session.temporal();
  const progress = await progressOrNothing(session, client.workflow.getHandle(id));
  const kube = await session.kube();
  const [vms, pools] = await Promise.all([readVms(kube, { namespace: undefined }), ofKnownKind(VirtualMachinePools, kube.list<Pool>(VirtualMachinePools, {}))]);
  const items = reportOf({ id: shortIdOf(id), vms, pools: pools.items, progress: typeof progress === 'string' ? null : progress });
  if (typeof progress === 'string') {
    if (items.length === 0) throw new Failure(`${progress}, and no VM carries anything of it`);
    note(`${progress}: what failed or was passed over is not known`);
  } else for (const { why, count, vms } of progress.passedOver) if (count > vms.length) note(`${count - vms.length} more were passed over: ${why}`);
  const isKnown = typeof progress !== 'string';
  if (output === 'json') {
    return printData({ id, phase: isKnown ? progress.phase : null, transition: isKnown ? progress.transition : null, items } satisfies Report, 'json');
  }
  if (output === 'csv') return print(csvOf(items));
  if (items.length === 0) return note(`${id} has changed nothing`);
  print(table(REPORT_COLUMNS.map((name) => name.toUpperCase()), items.map((row) => cellsOf(row).map((cell) => cell ?? '<none>'))).join('\n'));
}

/** A sentence where it is not known. */
const progressOrNothing = (session: Session, handle: WorkflowHandle) =>
  readTransition(session, handle).then(
    ({ progress }) => progress,
    (error: unknown) => sentenceOf(error),
  );
