import { liveVmi } from '../../decisions/health/availability.ts';
import type { Transition } from '../../decisions/machine-types/transition.ts';
import { transitionOf } from '../../decisions/operations/transition.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { printNote, plain, print, table, printData, type DataFormat } from '../cli/print.ts';
import { actsOfWorkflow } from '../history/read.ts';
import { workflowIdOf } from '../operations/acts.ts';
import { progressOf, stateOf } from '../operations/print-operations.ts';
import type { Session, Work } from '../session/session.ts';
import { readFleet, snapshotOf } from './read.ts';
import { cellsOf, REPORT_COLUMNS, reportOf, type ReportedVm, type ReportRow } from './report.ts';
import { findTransition, type FoundTransition } from './transitions.ts';

/** What `-o json` prints. */
export interface Report {
  /** Name of the operation. */
  id: string;
  /** Null if the operation is deleted. */
  phase: string | null;
  transition: Transition | null;
  items: ReportRow[];
}

/**
 * Reads what a transition has done to each VM, of the given namespace if there is one, with notes. Once its operation
 * is deleted, reports what the VMs record of it.
 */
async function readReport(
  session: Session,
  { uid, name: id, operation }: Pick<FoundTransition, 'uid' | 'name' | 'operation'>,
  namespace: string | undefined,
): Promise<{ report: Report; notes: string[] }> {
  const [vms, changed] = await Promise.all([
    readReported(await session.kube(), namespace),
    changedVms(session, operation),
  ]);
  const progress = operation === undefined ? null : progressOf(operation);
  const phase = operation === undefined ? null : stateOf(operation);
  const all = reportOf({ id: uid, vms, progress, changed });
  const items = namespace === undefined ? all : all.filter((row) => row.namespace === namespace);
  const notes = [
    ...(operation === undefined ? [`${id} is deleted: what failed or was skipped is not known`] : []),
    ...(progress?.skipped ?? []).flatMap(({ message, count, vms }) =>
      count > vms.length ? [`${count - vms.length} more are skipped: ${message}`] : [],
    ),
  ];
  const transition = operation === undefined ? null : transitionOf(operation);
  return { report: { id, phase, transition, items }, notes };
}

/** Prints what a transition has done to each VM, of the namespace of the command if it has one. */
export const printReport: Work<{ output?: DataFormat }> = async (session, { output }, arg?: string) => {
  const { namespace } = session.globals;
  const meant = await findTransition(await session.kube(), namespace, arg);
  const { report, notes } = await readReport(session, meant, namespace);
  const { id, items } = report;
  for (const note of notes) printNote(plain(note));
  if (output !== undefined) return printData(report, output);
  if (items.length === 0)
    return printNote(`${id} has changed no VM${namespace === undefined ? '' : ` in namespace ${namespace}`}`);
  const rows = items.map((row) => cellsOf(row).map((cell) => cell ?? '<none>'));
  const headers = REPORT_COLUMNS.map((name) => name.toUpperCase());
  print(table(headers, rows));
};

/**
 * The VMs that are on record as changed, by `namespace/name`, if Temporal can be asked: including VMs deleted since,
 * which nothing else records.
 */
async function changedVms(session: Session, operation: StoredOperation | undefined): Promise<string[]> {
  if (operation === undefined || !(await session.knowsTemporal())) return [];
  const acts = await actsOfWorkflow(session, await workflowIdOf(session, operation.metadata)).catch(() => []);
  return acts.filter(({ action, end }) => action === 'machine type' && end === 'Done').flatMap(({ vms }) => vms);
}

/** What VMs record, of this namespace or of all, with the types that their live VMIs have. */
async function readReported(kube: KubeClient, namespace: string | undefined): Promise<ReportedVm[]> {
  const fleet = await readFleet(kube, namespace === undefined ? null : [namespace]);
  const { vmiOf } = snapshotOf(fleet);
  return fleet.vms.map((vm) => ({ ...vm, vmiType: typeOf(liveVmi(vmiOf(vm))) }));
}

const typeOf = (vmi: VmiView | undefined): string | null => vmi?.machineType ?? vmi?.specMachineType ?? null;
