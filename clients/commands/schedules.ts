import { formatOption, reasonOption } from '../cli/options.ts';
import { Command } from './command.ts';

/** `drover schedules`: operations that are made again and again. */
export const schedulesCommand = (): Command =>
  new Command('schedules')
    .description('operations on a cron schedule, such as a stop each evening')
    .examples(
      [
        'Make one',
        'drover vm stop -l office=yes --schedule "0 20 * * 1-5" --time-zone Europe/Zurich --name office-stop',
      ],
      ['All of the cluster, with their last and next times', 'drover schedules get -A'],
      ['No operation over the holidays', 'drover schedules suspend office-stop --reason holidays'],
      ['Now, in addition to its times', 'drover schedules run office-stop'],
    )
    .commandsBelow(
      [getCommand(), describeCommand(), suspendCommand(), resumeCommand(), runCommand(), deleteCommand()],
      'get',
    );

const getCommand = (): Command =>
  new Command('get')
    .description('list schedules')
    .option('-A, --all-namespaces', 'in all namespaces')
    .addOption(formatOption(['json', 'yaml', 'name']))
    .does(async () => (await import('../schedules/print-schedules.ts')).getSchedules);

const describeCommand = (): Command =>
  onOne('describe', 'show when it last made an operation, how that ended, and when the next is due')
    .addOption(formatOption(['json', 'yaml']))
    .does(async () => (await import('../schedules/print-schedules.ts')).describeSchedule);

const suspendCommand = (): Command =>
  onOne('suspend', 'make no operation until `resume`; those in progress continue')
    .addOption(reasonOption('the annotations of the schedule'))
    .does(async () => (await import('../schedules/read-schedules.ts')).suspendSchedule);

const resumeCommand = (): Command =>
  onOne('resume', 'continue with the next time; missed times are not caught up').does(
    async () => (await import('../schedules/read-schedules.ts')).resumeSchedule,
  );

const runCommand = (): Command =>
  onOne('run', 'create its operation now, with your own rights, in addition to the scheduled ones')
    .option('--no-wait', 'return as soon as it has begun')
    .does(async () => (await import('../schedules/make.ts')).runSchedule);

const deleteCommand = (): Command =>
  onOne('delete', 'delete the schedule and its operations; those in progress are aborted by that').does(
    async () => (await import('../schedules/read-schedules.ts')).deleteSchedule,
  );

const onOne = (verb: string, description: string): Command =>
  new Command(verb).description(description).argument('<name>', 'of the schedule, as `get` shows it');
