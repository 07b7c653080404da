import { changesOf, type ChangeRecord } from '../../decisions/changes/change-record.ts';
import { formatPace } from '../../decisions/runs/report.ts';
import { ageOf, printNote, plain, print, printData, table, dryRunSuffix, type DataFormat } from '../cli/print.ts';
import { noRecordOf } from '../operations/find-operation.ts';
import { makeAndFollow } from '../operations/make.ts';
import { readVms } from '../operations/read-vms.ts';
import type { Session, Work } from '../session/session.ts';
import { changeOperation, type ChangingFlags } from './operation.ts';

interface Flags {
  allNamespaces?: boolean;
}

async function read(session: Session, { allNamespaces = false }: Flags) {
  const namespace = allNamespaces ? undefined : await session.namespace();
  const all = await readVms(await session.kube(), { namespace });
  return { namespace, vms: all.map(({ vm }) => ({ vm, records: changesOf(vm.metadata.annotations) })) };
}

/** Restores what a change has replaced in VMs. */
export const undoChange: Work<ChangingFlags> = async (session, flags, change) => {
  const { namespace, vms } = await read(session, flags);
  const own = vms.flatMap(({ vm: { metadata }, records }) =>
    records.some(({ operation }) => operation === change) ? [`${metadata.namespace}/${metadata.name}`] : [],
  );
  if (own.length === 0) {
    throw noRecordOf(namespace === undefined ? '' : ` in namespace ${namespace}`, change);
  }
  const what = formatPace(own.length, flags.atOnce);
  const printDryRun = (): void => {
    for (const vm of own) print(`${vm} would be as before ${plain(change)}`);
    print(`${what}${dryRunSuffix(flags.dryRun)}`);
  };
  if (flags.dryRun === 'client') return printDryRun();
  const operation = await changeOperation(session, { vms: own }, { undo: change }, flags);
  await makeAndFollow(session, { operation, what, printDryRun }, flags);
};

export const listChanges: Work<Flags & { output?: DataFormat }> = async (session, flags) => {
  const { vms } = await read(session, flags);
  const changes = new Map<string, ChangeRecord & { vms: number }>();
  for (const { records } of vms)
    for (const one of records) changes.set(one.id, { ...one, vms: (changes.get(one.id)?.vms ?? 0) + 1 });
  const newestFirst = [...changes.values()].toSorted((a, b) => b.at.localeCompare(a.at));
  if (flags.output !== undefined) return printData({ items: newestFirst }, flags.output);
  if (changes.size === 0) return printNote('no VM has a record of a change');
  const rows = newestFirst.map(({ operation, vms, at, by, reason = '<none>' }) => [
    operation,
    vms,
    ageOf(at),
    by,
    reason,
  ]);
  print(table(['CHANGE', 'VMS', 'AGE', 'REQUESTED BY', 'REASON'], rows));
};
