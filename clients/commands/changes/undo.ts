import { Command } from 'commander';
import { countOf } from '../../../api/lib/int-or-percent.ts';
import { changesOf, type ChangeNote } from '../../../decisions/changes/note.ts';
import { formatVms } from '../../../decisions/runs/report.ts';
import { dryRunRemark, examples } from '../../cli/options.ts';
import { ageOf, note, plain, print, table } from '../../cli/print.ts';
import { inSession, type Session } from '../../session/session.ts';
import { atOnceOption, withMaking } from '../operations/making.ts';
import { changeOperation, type ChangingFlags } from './operation.ts';

interface Flags {
  allNamespaces?: boolean;
}

type UndoFlags = ChangingFlags;

export const undoChangeCommand = (): Command =>
  withMaking(
    new Command('undo')
      .argument('<operation>', 'its name, as `drover change list` shows it')
      .description('restore the values that a change has replaced, except those that were changed since')
      .option('-A, --all-namespaces', 'in all namespaces')
      .option('--restart', 'restart VMs that need it for that, each as it is changed; without it, they wait')
      .addOption(atOnceOption('changed or, with --restart, not ready', '5%')),
    {
      deadline: 'how long a VM may take to be as before and, with --restart, to be ready',
      verb: 'change',
      done: 'as before',
    },
  )
    .addHelpText('after', examples(['Take a change back', 'drover change undo patch-x7k2p']))
    .action((change: string, flags: UndoFlags, command: Command) =>
      inSession(command, (session) => undo(session, change, flags)),
    );

export const listChangesCommand = (): Command =>
  new Command('list')
    .description('list the changes on record on VMs: the last five of each VM')
    .option('-A, --all-namespaces', 'in all namespaces')
    .action((flags: Flags, command: Command) => inSession(command, (session) => list(session, flags)));

async function read(session: Session, { allNamespaces = false }: Flags) {
  const { readVms } = await import('../../power/read-vms.ts');
  const namespace = allNamespaces ? undefined : await session.namespace();
  const all = await readVms(await session.kube(), { namespace });
  return { namespace, vms: all.map(({ vm }) => ({ vm, notes: changesOf(vm.metadata.annotations) })) };
}

async function undo(session: Session, change: string, flags: UndoFlags): Promise<void> {
  const { namespace, vms } = await read(session, flags);
  const own = vms.flatMap(({ vm: { metadata }, notes }) =>
    notes.some(({ operation }) => operation === change) ? [`${metadata.namespace}/${metadata.name}`] : [],
  );
  if (own.length === 0) {
    const { noRecordOf } = await import('../../operations/find-operation.ts');
    throw noRecordOf(namespace === undefined ? '' : ` in namespace ${namespace}`, change);
  }
  const what = `${formatVms(own.length)}, ${Math.min(countOf(flags.atOnce, own.length, 1), own.length)} at a time`;
  const tellDryRun = (): void => {
    for (const vm of own) print(`${vm} would be as before ${plain(change)}`);
    print(`${what}${dryRunRemark(flags.dryRun)}`);
  };
  if (flags.dryRun === 'client') return tellDryRun();
  const operation = await changeOperation(session, { vms: own }, { undo: change }, flags);
  const { makeAndFollow } = await import('../../operations/make.ts');
  await makeAndFollow(session, { operation, what, tellDryRun }, flags);
}

async function list(session: Session, flags: Flags): Promise<void> {
  const { vms } = await read(session, flags);
  const changes = new Map<string, ChangeNote & { vms: number }>();
  for (const { notes } of vms)
    for (const one of notes) changes.set(one.id, { ...one, vms: (changes.get(one.id)?.vms ?? 0) + 1 });
  if (changes.size === 0) return note('no VM has a record of a change');
  const rows = [...changes.values()]
    .toSorted((a, b) => b.at.localeCompare(a.at))
    .map(({ operation, vms, at, by, reason = '<none>' }) => [operation, vms, ageOf(at), by, reason]);
  print(table(['CHANGE', 'VMS', 'AGE', 'REQUESTED BY', 'REASON'], rows).join('\n'));
}
