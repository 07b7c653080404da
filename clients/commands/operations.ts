import { Option, type Command as Commander } from 'commander';
import { dryRunOption, formatOption, reasonOption, windowOption } from '../cli/options.ts';
import { parseCountOrPercent, parseCount, parsePositiveDuration, parseBoolean } from '../cli/parse-values.ts';
import type { About, Steering } from '../operations/show-operations.ts';
import { Command } from './command.ts';

/** `--at-once`: `doing` says what so many VMs are at once. */
export const atOnceOption = (doing: string, most: number | string): Option =>
  new Option('--at-once <n>', `how many of them, or how many percent, may be ${doing} at once; at least 1`)
    .argParser(parseCountOrPercent)
    .default(most);

/** Adds the flags of what is done with an operation that is made. `wait`: describes `--wait`. */
export const withFollowing = <C extends Commander>(command: C, wait: string): C =>
  command
    .option('--wait [boolean]', wait, parseBoolean, true)
    .option('--no-wait', 'return as soon as it has begun')
    .addOption(dryRunOption())
    .addOption(new Option('-o, --output <format>', 'print the operation that would be made').choices(['json', 'yaml']));

/** Adds the flags of all commands that make operations (`MakingFlags`). */
export const withMaking = (
  command: Command,
  { deadline, verb, done }: { deadline: string; verb: string; done: string },
): Command =>
  withFollowing(
    command
      .option('--max-failures <n>', 'stop after more failures than this', parseCount, 0)
      .addOption(windowOption(verb))
      .addOption(new Option('--deadline <duration>', deadline).argParser(parsePositiveDuration).default(600_000, '10m'))
      .option('--reason <words>', 'the reason, shown in status, history and the Web UI'),
    `follow it to its end; the exit code says whether all were ${done}`,
  );

const CONTROLS: Record<Steering, string> = {
  pause: 'touch no further VM until `resume`; those in progress will finish',
  resume: 'continue after a pause',
  abort: 'touch no further VM; the operation ends once those in progress are done, and cannot be resumed',
};

const WITHOUT = 'NAME, or cvmop/NAME for a cluster-wide operation; without a name, the running one';

const load = () => import('../operations/show-operations.ts');

/** The commands for operations, under the two names that lists and views of them have: `get` or `list`, and so on. */
export function commandsFor(list: string, show: string, about: About = {}): Command[] {
  const listCommand = new Command(list)
    .description('list operations, the newest first')
    .option('-A, --all-namespaces', 'in all namespaces')
    .addOption(formatOption(['json', 'yaml', 'name']))
    .does(async () => (await load()).listsOperations(about));
  const showCommand = new Command(show)
    .description('show the progress of an operation, what it waits for, what failed, and what it leaves alone')
    .argument('[name]', `${WITHOUT}, or the newest`)
    .option('-w, --watch', 'keep watching until it is over: the exit code is 0 when all was done')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .does(async () => (await load()).showsOperation(about));
  const controls = Object.entries(CONTROLS).map(([verb, description]) => {
    const command = new Command(verb).description(description).argument('[name]', WITHOUT);
    if (verb !== 'resume') command.addOption(reasonOption('the status'));
    return command.does(async () => (await load()).steersOperation(about, verb as Steering));
  });
  return [listCommand, showCommand, ...controls];
}

/** `drover operations`: what users have asked to be done to VMs once. */
export const operationsCommand = (): Command =>
  new Command('operations')
    .description(
      'list, follow and control operations on VMs: restarts, starts, stops, migrations and changes of machine types',
    )
    .examples(
      ['All of the cluster', 'drover operations get -A'],
      ['Follow the running one', 'drover operations describe --watch'],
      ['What the newest has done, VM by VM', 'drover operations logs'],
      [
        'Pause one, and resume it',
        'drover operations pause restart-x7k2p --reason lunch && drover operations resume restart-x7k2p',
      ],
    )
    .commandsBelow([...commandsFor('get', 'describe'), logsCommand()], 'get');

const logsCommand = (): Command =>
  new Command('logs')
    .description('show what an operation has done: to which VMs, when, and how that ended')
    .argument('[name]', `${WITHOUT}, or the newest`)
    .addOption(formatOption(['json', 'yaml']))
    .does(async () => (await load()).showLogs);
