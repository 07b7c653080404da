import { Option, type Command as Commander } from 'commander';
import { formatOption, reasonOption, windowOption } from '../cli/options.ts';
import { parseCountOrPercent, parseCount, parsePositiveDuration } from '../cli/parse-values.ts';
import { Command } from './command.ts';
import { commandsFor, withFollowing } from './operations.ts';

const several = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];

export const addScopeOptions = <C extends Commander>(command: C): C =>
  command
    .requiredOption(
      '--which-matches-glob <glob>',
      "glob of the old machine types, as Go's path.Match reads it; quote it for the shell",
    )
    .option('-A, --all-namespaces', 'in all namespaces, as without -n')
    .option('-l, --label-selector <selector>', 'only VMs with these labels, such as app=web,tier!=db')
    .option('--name <name>', 'only this VM, as NAME or NAMESPACE/NAME (repeatable)', several)
    .option('--exclude <glob>', 'no VM with such a name, as NAME or NAMESPACE/NAME (repeatable)', several)
    .addOption(
      new Option('--only <state>', "only VMs that run, or only VMs that don't").choices(['running', 'stopped']),
    )
    .option(
      '--to <type>',
      "the new machine type; without it the type is cleared, and the default of the VM's preference, or of the cluster, applies",
    );

export const addRestartOptions = <C extends Commander>(command: C): C =>
  command
    .option(
      '--restart-now',
      'restart the VMIs that have the old type, a few at a time; without it they wait until their owners restart them: a reboot inside the guest is enough only under rebootPolicy Terminate',
    )
    .option(
      '--max-restarts <n>',
      `how many of the running VMs, or how many percent, may be not ready at once, whatever the cause; at least 1 (default: 5%)`,
      parseCountOrPercent,
    )
    .option('--max-failures <n>', `stop after more failed restarts than this (default: 0)`, parseCount)
    .option('--deadline <duration>', 'how long a VM may take to be ready again (default: 10m)', parsePositiveDuration)
    .addOption(windowOption('restart'))
    .option('--force', 'continue even if the new type matches the glob too, or no node has it')
    .addOption(reasonOption());

const addFollowOptions = <C extends Commander>(command: C): C =>
  withFollowing(command, 'follow it; the exit code says whether all was done');

const typesCommand = (): Command =>
  new Command('types')
    .description(
      'list the machine types in use, by namespace: how many VMs ask for them, how many VMIs have them, and which are old',
    )
    .option('-A, --all-namespaces', 'in all namespaces, as without -n')
    .addOption(formatOption(['json', 'yaml', 'wide']))
    .examples(
      ['The types in use, everywhere', 'drover machine-types types'],
      [
        'Types that no node has any more',
        "drover machine-types types -o json | jq -r '.items[] | select(.nodes == 0) | .type'",
      ],
    )
    .does(async () => (await import('../machine-types/types.ts')).machineTypes);

const planMachineTypesCommand = (): Command =>
  addRestartOptions(addScopeOptions(new Command('plan')))
    .description(
      'what `update` would do with the same flags: to which VMs, what types they would get, and what each needs; changes nothing',
    )
    .addOption(formatOption(['json', 'yaml', 'wide']))
    .examples(
      [
        'What would become of everything with a RHEL 8 type',
        "drover machine-types plan --which-matches-glob '*rhel8.*'",
      ],
      [
        'Which VMs would be restarted?',
        "drover machine-types plan --which-matches-glob '*rhel8.*' --restart-now -o json | jq -r '.items[] | select(.need | test(\"Restart\")) | .name'",
      ],
    )
    .does(async () => (await import('../machine-types/begin-transition.ts')).planTransition);

const updateMachineTypesCommand = (): Command =>
  addFollowOptions(addRestartOptions(addScopeOptions(new Command('update'))))
    .description('change the machine types of VMs of any owner, and follow each until its VMI has the new one')
    .examples(
      [
        'Everything with a RHEL 8 type: the default from now on, and VMIs when their owners restart them',
        "drover machine-types update --which-matches-glob '*rhel8.*'",
      ],
      ['What would that do?', "drover machine-types update --which-matches-glob '*rhel8.*' --dry-run"],
      [
        'Restart the VMIs too, one in twenty at a time, at night',
        "drover machine-types update --which-matches-glob '*rhel8.*' --restart-now --window '0 2 * * * 4h'",
      ],
      [
        'Begin, and look at it later',
        "drover machine-types update --which-matches-glob '*rhel8.*' -n shop --no-wait && drover machine-types status",
      ],
    )
    .does(async () => (await import('../machine-types/begin-transition.ts')).updateMachineTypes);

const undoTransitionCommand = (): Command =>
  addFollowOptions(addRestartOptions(new Command('undo')))
    .description('give VMs back the machine types that a transition has changed, unless they were changed since')
    .argument('<operation>', 'name of the operation, as `list` shows it; its UID, if several had that name')
    .examples(
      [
        'Undo all of it, and restart the VMIs',
        'drover machine-types undo machine-types-x7k2p --restart-now --reason "the VMIs lose their disks"',
      ],
      ['Of one namespace', 'drover machine-types undo machine-types-x7k2p -n shop'],
    )
    .does(async () => (await import('../machine-types/begin-transition.ts')).undoTransition);

const transitionReportCommand = (): Command =>
  new Command('report')
    .description(
      'show what a transition has done to each VM, even long after its end: its type before and after, its state, and why',
    )
    .argument(
      '[name]',
      'name of the operation, as `list` shows it, or its UID; by default the running one, or the newest',
    )
    .addOption(formatOption(['json', 'yaml']))
    .examples(
      [
        'What was done, for a spreadsheet',
        "drover machine-types report machine-types-x7k2p -o json | jq -r '.items[] | [.namespace, .name, .from, .to, .state] | @csv'",
      ],
      [
        'VMs whose VMIs still have the old type',
        'drover machine-types report -o json | jq -r \'.items[] | select(.state == "Waiting") | .namespace + "/" + .name\'',
      ],
    )
    .does(async () => (await import('../machine-types/print-report.ts')).printReport);

export const machineTypesCommand = (): Command =>
  new Command('machine-types')
    .description(
      'machine types of VMs of any owner: which are in use and which are old, and their change in many VMs at once',
    )
    .commandsBelow([
      typesCommand(),
      planMachineTypesCommand(),
      updateMachineTypesCommand(),
      ...commandsFor('list', 'status', { action: 'MachineType' }),
      undoTransitionCommand(),
      transitionReportCommand(),
    ]);
