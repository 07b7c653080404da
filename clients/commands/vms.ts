import { Option } from 'commander';
import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import { formatOption } from '../cli/options.ts';
import { parseCountOrPercent, parseScheduleName } from '../cli/parse-values.ts';
import { Command } from './command.ts';
import { atOnceOption, withMaking } from './operations.ts';

const pendingCommand = (): Command =>
  new Command('pending')
    .description(
      'list VMs of any owner that wait for a restart (a reboot inside the guest is one only under rebootPolicy Terminate), since when and why',
    )
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('-l, --selector <selector>', 'only VMs with these labels, such as app=web,tier!=db')
    .addOption(formatOption())
    .examples(
      ['What waits for a restart, everywhere', 'drover vm pending -A'],
      ['For a script', 'drover vm pending -o json | jq -r .items[].message'],
    )
    .does(async () => (await import('../power/pending.ts')).pendingVms);

const startVmsCommand = (): Command =>
  powerCommand('Start', {
    description: 'start VMs of any owner, a few at a time, so that they do not boot all at once',
    limit: atOnceOption('starting', 10),
    deadline: 'how long a VM may take to be ready, and how long to wait for a VM that still stops',
    examples: [
      ['Start some VMs of a pool', 'drover vm start --pool web -l tier=spare'],
      ['Three VMs, one after the other', 'drover vm start db-1 db-2 db-3 --at-once 1'],
      ['What would that do?', 'drover vm start --owner vmrs/runners --dry-run'],
    ],
  });

const stopVmsCommand = (): Command =>
  powerCommand('Stop', {
    description: 'stop VMs of any owner in an orderly way; they stay stopped through updates until a user starts them',
    limit: atOnceOption('stopping', '100%'),
    deadline: 'how long a VM may take to stop, and how long to wait for a VM that is paused or migrates',
    examples: [
      ['Stop some VMs of a pool', 'drover vm stop --pool web -l tier=spare --reason "end of the sale"'],
      ['All VMs of a project, everywhere', 'drover vm stop -A -l project=moon'],
      ['What would that do?', 'drover vm stop --pool web --dry-run'],
      ['Each working day', 'drover vm stop -l office=yes --schedule "0 20 * * 1-5" --time-zone Europe/Zurich'],
    ],
  });

const restartVmsCommand = (): Command =>
  powerCommand('Restart', {
    description:
      'restart VMs of any owner within a budget; the next goes down only when the last is seen to be ready again',
    limit: new Option(
      '--max-unavailable <n>',
      'how many of them, or how many percent, may be not ready at once, whatever the cause; at least 1',
    )
      .argParser(parseCountOrPercent)
      .default('5%'),
    deadline: 'how long a VM may take to be ready again, and how long to wait for a VM that is paused or migrates',
    examples: [
      [
        'Restart all that wait for it, one in twenty at a time',
        'drover vm restart --pending -A --reason "new machine type"',
      ],
      ['What would that do?', 'drover vm restart --pending -A --dry-run'],
      ['Some VMs of a pool', 'drover vm restart --pool web -l tier=spare'],
      ['Some VMs, one after the other', 'drover vm restart db-1 db-2 db-3 --max-unavailable 1'],
      ['Begin, and look at it later', 'drover vm restart --pending --no-wait && drover operations'],
    ],
  }).option('--pending', 'only VMs that wait for a restart, as `drover vm pending` lists them');

const migrateVmsCommand = (): Command =>
  powerCommand('Migrate', {
    description:
      'live-migrate VMs of any owner within a budget, such as off pods of an earlier KubeVirt; the next only when the last is ready',
    limit: new Option(
      '--max-unavailable <n>',
      'how many of them, or how many percent, may migrate or be not ready at once; at least 1',
    )
      .argParser(parseCountOrPercent)
      .default(2),
    deadline: 'how long a VM may take to be migrated, and how long to wait for a VM that is paused or already migrates',
    examples: [
      [
        'Migrate all that run in a pod of an earlier KubeVirt',
        'drover vm migrate --outdated -A --reason "KubeVirt 1.8"',
      ],
      ['What would that do?', 'drover vm migrate --outdated -A --dry-run'],
      ['The VMs of a pool, one after the other', 'drover vm migrate --pool web --max-unavailable 1'],
    ],
  }).option('--outdated', 'only VMs that run in a pod of an earlier KubeVirt, as KubeVirt labels their VMIs');

interface PowerCommand {
  description: string;
  limit: Option;
  deadline: string;
  examples: [what: string, command: string][];
}

function powerCommand(action: PowerAction, { description, limit, deadline, examples: shown }: PowerCommand): Command {
  const { verb, done } = ACTION_LABELS[action];
  const command = new Command(verb)
    .description(description)
    .argument('[names...]', 'names of the VMs')
    .option('-l, --selector <selector>', 'VMs with these labels, such as app=web,tier!=db')
    .option('--pool <name>', 'VMs that this pool owns')
    .option('--owner <kind/name>', 'VMs that this pool or replica set owns, such as vmrs/runners')
    .option('-A, --all-namespaces', 'in all namespaces: one operation, with one limit over all of them')
    .addOption(limit)
    .option('--schedule <cron>', `${verb} them on a cron schedule: minute, hour, day of month, month, day of week`)
    .option('--time-zone <zone>', 'of --schedule, such as Europe/Zurich; UTC by default')
    .addOption(new Option('--name <name>', 'name of the schedule; generated by default').argParser(parseScheduleName));
  return withMaking(command, { deadline, verb, done: done.toLowerCase() })
    .examples(...shown)
    .does(async () => (await import('../power/begin.ts')).beginsPower(action));
}

export const vmCommand = (): Command =>
  new Command('vm')
    .description(
      'VMs of any owner: which wait for a restart, and their start, stop, restart and migration, a few at a time',
    )
    .commandsBelow([pendingCommand(), startVmsCommand(), stopVmsCommand(), restartVmsCommand(), migrateVmsCommand()]);
