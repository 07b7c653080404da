import { Option } from 'commander';
import { formatOption } from '../cli/options.ts';
import { Command } from './command.ts';
import { atOnceOption, withMaking } from './operations.ts';

/** Adds the flags by which all commands of changes are told which change, and of which VMs. */
const withChange = (command: Command): Command =>
  command
    .argument('[names...]', 'names of the VMs')
    .option('-l, --selector <selector>', 'VMs with these labels, such as app=db,tier!=web')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('--patch <file>', 'the change, as a merge patch of a VirtualMachine: a file, or - for standard input')
    .addOption(
      new Option('--set <path=value>', 'one value, such as spec.template.spec.domain.cpu.model=host-model; repeatable')
        .argParser((text: string, before: string[]) => [...before, text])
        .default([], 'none'),
    );

const planChangeCommand = (): Command =>
  withChange(new Command('plan'))
    .description('say what a change of VMs would do, and ask KubeVirt by a dry run; nothing is changed')
    .addOption(formatOption(['json', 'yaml']))
    .examples(
      [
        'What another CPU model would take',
        'drover change plan db-1 db-2 --set spec.template.spec.domain.cpu.model=host-model',
      ],
      [
        "A disk's cache mode, of all VMs that have such a disk",
        "drover change plan -A -l app=db --set 'spec.template.spec.domain.devices.disks[name=root].cache=none'",
      ],
      ['From a file', 'drover change plan -l app=db --patch change.yaml'],
    )
    .does(async () => (await import('../changes/apply.ts')).planChanges);

const applyChangeCommand = (): Command =>
  withMaking(
    withChange(new Command('apply'))
      .description('change VMs as `drover change plan` says, by an operation that a worker carries out')
      .option('--restart', 'restart VMs whose change needs it, each as it is changed; without it, they wait')
      .addOption(atOnceOption('changed or, with --restart, not ready', '5%')),
    {
      deadline: 'how long a VM may take to have the change and, with --restart, to be ready',
      verb: 'change',
      done: 'changed',
    },
  )
    .examples(
      [
        'Set another eviction strategy',
        'drover change apply -l app=db --set spec.template.spec.evictionStrategy=LiveMigrate --reason "new storage"',
      ],
      [
        'Another CPU model, and the restarts that it takes, one after the other',
        'drover change apply -l app=db --set spec.template.spec.domain.cpu.model=host-model --restart --at-once 1',
      ],
      ['The object, for Git', 'drover change apply -l app=db --patch change.yaml -o yaml'],
    )
    .does(async () => (await import('../changes/apply.ts')).applyChange);

const undoChangeCommand = (): Command =>
  withMaking(
    new Command('undo')
      .argument('<operation>', 'name of the change, as `drover change list` shows it')
      .description('restore the values that a change has replaced, unless they were changed since')
      .option('-A, --all-namespaces', 'in all namespaces')
      .option('--restart', 'restart VMs whose change needs it, each as it is changed; without it, they wait')
      .addOption(atOnceOption('changed or, with --restart, not ready', '5%')),
    {
      deadline: 'how long a VM may take to be as before and, with --restart, to be ready',
      verb: 'change',
      done: 'as before',
    },
  )
    .examples(['Undo a change', 'drover change undo patch-x7k2p'])
    .does(async () => (await import('../changes/undo.ts')).undoChange);

const listChangesCommand = (): Command =>
  new Command('list')
    .description('list the changes on record on VMs: the last five of each VM')
    .option('-A, --all-namespaces', 'in all namespaces')
    .addOption(formatOption(['json', 'yaml']))
    .does(async () => (await import('../changes/undo.ts')).listChanges);

export const changeCommand = (): Command =>
  new Command('change')
    .description('plan, apply or undo a change of any field of many VMs at once')
    .commandsBelow([planChangeCommand(), applyChangeCommand(), undoChangeCommand(), listChangesCommand()]);
