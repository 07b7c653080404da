import { changesOf, type ChangeNote } from '../../decisions/changes/note.ts';
import { ageOf, note, plain, print, table, dryRunRemark } from '../cli/print.ts';
import { noRecordOf } from '../operations/find-operation.ts';
import { formatPace, makeAndFollow } from '../operations/make.ts';
import { readVms } from '../operations/read-vms.ts';
import type { Session, Work } from '../session/session.ts';
import { changeOperation, type ChangingFlags } from './operation.ts';

interface Flags {
  allNamespaces?: boolean;
}

async function read(session: Session, { allNamespaces = false }: Flags) {
  const namespace = allNamespaces ? undefined : await session.namespace();
  const all = await readVms(await session.kube(), { namespace });
  return { namespace, vms: all.map(({ vm }) => ({ vm, notes: changesOf(vm.metadata.annotations) })) };
}

/** Restores what a change has replaced in VMs. */
export const undoChange: Work<ChangingFlags> = async (session, flags, change) => {
  const { namespace, vms } = await read(session, flags);
  const own = vms.flatMap(({ vm: { metadata }, notes }) =>
    notes.some(({ operation }) => operation === change) ? [`${metadata.namespace}/${metadata.name}`] : [],
  );
  if (own.length === 0) {
    throw noRecordOf(namespace === undefined ? '' : ` in namespace ${namespace}`, change);
  }
  const what = formatPace(own.length, flags.atOnce);
  const tellDryRun = (): void => {
    for (const vm of own) print(`${vm} would be as before ${plain(change)}`);
    print(`${what}${dryRunRemark(flags.dryRun)}`);
  };
  if (flags.dryRun === 'client') return tellDryRun();
  const operation = await changeOperation(session, { vms: own }, { undo: change }, flags);
  await makeAndFollow(session, { operation, what, tellDryRun }, flags);
};

export const listChanges: Work<Flags> = async (session, flags) => {
  const { vms } = await read(session, flags);
  const changes = new Map<string, ChangeNote & { vms: number }>();
  for (const { notes } of vms)
    for (const one of notes) changes.set(one.id, { ...one, vms: (changes.get(one.id)?.vms ?? 0) + 1 });
  if (changes.size === 0) return note('no VM has a record of a change');
  const rows = [...changes.values()]
    .toSorted((a, b) => b.at.localeCompare(a.at))
    .map(({ operation, vms, at, by, reason = '<none>' }) => [operation, vms, ageOf(at), by, reason]);
  print(table(['CHANGE', 'VMS', 'AGE', 'REQUESTED BY', 'REASON'], rows));
};
