import { Command } from 'commander';
import type { ChangeNote } from '../../../decisions/changes/note.ts';
import { formatVms } from '../../../decisions/runs/report.ts';
import { Failure } from '../../cli/failure.ts';
import { examples } from '../../cli/options.ts';
import { ageOf, note, plain, print, table } from '../../cli/output.ts';
import { inSession, type Session } from '../../session/session.ts';

interface Flags {
  allNamespaces?: boolean;
}

export const undoChangeCommand = (): Command =>
  new Command('undo')
    .argument('<change>')
    .description('put back what a change has set, but for values that somebody has changed since')
    .option('-A, --all-namespaces', 'in all namespaces')
    .addHelpText('after', examples(['Take a change back', 'drover change undo change-x7k2p']))
    .action((id: string, flags: Flags, command: Command) => inSession(command, (session) => undo(session, id, flags)));

export const listChangesCommand = (): Command =>
  new Command('list')
    .description('list changes that VMs tell of: the last five of each')
    .option('-A, --all-namespaces', 'in all namespaces')
    .action((flags: Flags, command: Command) => inSession(command, (session) => list(session, flags)));

async function read(session: Session, { allNamespaces = false }: Flags) {
  const [{ readVms }, { notesOf }] = await Promise.all([
    import('../../power/running.ts'),
    import('../../changes/undo.ts'),
  ]);
  const namespace = allNamespaces ? undefined : await session.namespace();
  const all = await readVms(await session.kube(), { namespace });
  return { namespace, vms: all.map(({ vm }) => ({ vm, notes: notesOf(vm) })) };
}

async function undo(session: Session, id: string, flags: Flags): Promise<void> {
  const { namespace, vms } = await read(session, flags);
  const own = vms.flatMap(({ vm, notes }) => (notes.some((one) => one.id === id) ? [vm] : []));
  if (own.length === 0)
    throw new Failure(`no VM${namespace === undefined ? '' : ` in namespace ${namespace}`} tells of ${plain(id)}`);
  const { undoChange } = await import('../../changes/undo.ts');
  const { undone, kept, failed } = await undoChange(await session.kube(), own, id);
  print(`${plain(id)}: ${undone.length} of ${formatVms(own.length)} as before`);
  for (const { vm, paths } of kept) note(plain(`${vm} keeps what somebody has changed since: ${paths.join(', ')}`));
  if (failed.length > 0)
    throw new AggregateError(failed.map(({ vm, why }) => new Failure(plain(`${vm} failed: ${why}`))));
}

async function list(session: Session, flags: Flags): Promise<void> {
  const { vms } = await read(session, flags);
  const changes = new Map<string, ChangeNote & { vms: number }>();
  for (const { notes } of vms)
    for (const one of notes) changes.set(one.id, { ...one, vms: (changes.get(one.id)?.vms ?? 0) + 1 });
  if (changes.size === 0) return note('no VM tells of a change');
  const rows = [...changes.values()]
    .toSorted((one, other) => other.at.localeCompare(one.at))
    .map(({ id, vms, at, by, reason = '<none>' }) => [id, vms, ageOf(at), by, reason]);
  print(table(['CHANGE', 'VMS', 'AGE', 'REQUESTED BY', 'REASON'], rows).join('\n'));
}
