import type { WorkflowHandle } from '@temporalio/client';
import { identityKey } from '../../api/ownership.ts';
import { recordOf } from '../../decisions/annotations/transition-record.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import type { Transition, TransitionPhase, TransitionProgress } from '../../decisions/machine-types/transition.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { printData } from '../cli/data.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { note, plain, print, table } from '../cli/output.ts';
import { actsOfWorkflow } from '../history/read.ts';
import { readRun, type RunStatus } from '../runs/status.ts';
import type { Session } from '../session/session.ts';
import { readFleet, snapshotOf } from './read.ts';
import { cellsOf, csvOf, REPORT_COLUMNS, reportOf, type ReportInput, type ReportRow } from './report.ts';
import { Transitions } from './run-kind.ts';
import { shortIdOf } from './transitions.ts';

export type ReportFormat = 'json' | 'csv';

/** What `-o json` prints. */
export interface Report {
  id: string;
  /** Null if Temporal doesn't tell, or if somebody ended the transition from outside. */
  phase: TransitionPhase | null;
  transition: Transition | null;
  items: ReportRow[];
}

/**
 * Prints what a transition has done to each VM, of the given namespace if there is one. If the workflow can't be asked,
 * reports what the VMs and pools record of it.
 */
export async function printReport(session: Session, id: string, output?: ReportFormat): Promise<void> {
  const { client } = await session.temporal();
  const kube = await session.kube();
  const { namespace } = session.globals;
  const [{ status, problem }, found, changed] = await Promise.all([
    tryToRead(session, client.workflow.getHandle(id)),
    readReported(kube, namespace),
    // Ignored: whatever is wrong also fails the progress query, which reports it.
    changedVms(session, id).catch(() => []),
  ]);
  const isCutOff = status !== null && status.ended !== null && status.phase !== 'Refused';
  const all = reportOf({ id: shortIdOf(id), ...found, progress: status, isCutOff, changed });
  const items = namespace === undefined ? all : all.filter((row) => row.namespace === namespace);
  if (problem !== null && items.length === 0) throw new Failure(`${problem}, and no VM carries anything of it`);
  const phase = status === null || isCutOff ? null : status.phase;
  if (isCutOff) note(plain(`${id} was ${status.ended}`));
  if (problem !== null) note(`${problem}: what failed or was skipped is not known`);
  for (const { why, count, vms } of status?.skipped ?? [])
    if (count > vms.length) note(`${count - vms.length} more are skipped: ${why}`);
  if (output === 'json')
    return printData({ id, phase, transition: status?.transition ?? null, items } satisfies Report, 'json');
  if (output === 'csv') return print(csvOf(items));
  if (items.length === 0)
    return note(`${id} has changed no VM${namespace === undefined ? '' : ` in namespace ${namespace}`}`);
  const rows = items.map((row) => cellsOf(row).map((cell) => cell ?? '<none>'));
  print(
    table(
      REPORT_COLUMNS.map((name) => name.toUpperCase()),
      rows,
    ).join('\n'),
  );
}

/** The VMs that are on record as changed, by `namespace/name`: this includes VMs deleted since. */
const changedVms = async (session: Session, id: string): Promise<string[]> =>
  (await actsOfWorkflow(session, id))
    .filter(({ action, end }) => action === 'machine type' && end === 'Done')
    .flatMap(({ vms }) => vms.filter((vm) => !vm.startsWith('pool ')));

/** Null with a problem if the workflow can't be asked. */
const tryToRead = (
  session: Session,
  handle: WorkflowHandle,
): Promise<{ status: RunStatus<TransitionProgress> | null; problem: string | null }> =>
  readRun(session, Transitions, handle).then(
    (status) => ({ status, problem: null }),
    (error: unknown) => ({ status: null, problem: sentenceOf(error) }),
  );

/** What VMs and pools record, of this namespace or of all, with the types that their live VMIs have. */
async function readReported(
  kube: KubeClient,
  namespace: string | undefined,
): Promise<Pick<ReportInput, 'vms' | 'pools'>> {
  const fleet = await readFleet(kube, namespace === undefined ? null : [namespace]);
  const { vmiOf } = snapshotOf(fleet);
  const vms = fleet.vms.map((vm) => ({ ...vm, vmiType: typeOf(liveVmi(vmiOf(vm))) }));
  const records = fleet.pools.map((pool) => [identityKey(pool.metadata), recordOf(pool.metadata.annotations)] as const);
  return { vms, pools: new Map(records) };
}

const typeOf = (vmi: VmiView | undefined): string | null => vmi?.machineType ?? vmi?.specMachineType ?? null;
