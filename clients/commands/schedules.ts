import { reasonOption } from '../cli/options.ts';
import { Command } from './command.ts';

/** `drover schedules`: operations that are made again and again. */
export const schedulesCommand = (): Command =>
  new Command('schedules')
    .description('operations on a cron schedule, such as a stop each evening; `kubectl get vmopschedule` lists them')
    .examples(
      [
        'Make one',
        'drover vm stop -l office=yes --schedule "0 20 * * 1-5" --time-zone Europe/Zurich --name office-stop',
      ],
      ['No operation over the holidays', 'drover schedules suspend office-stop --reason holidays'],
      ['Now, in addition to its times', 'drover schedules run office-stop'],
    )
    .commandsBelow([suspendCommand(), resumeCommand(), runCommand()]);

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

const onOne = (verb: string, description: string): Command =>
  new Command(verb)
    .description(description)
    .argument('<name>', 'name of the schedule, as `kubectl get vmopschedule` shows it');
