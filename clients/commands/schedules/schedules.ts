import { Command } from 'commander';
import { VirtualMachineOperationSchedules } from '../../../api/resources.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import type { DataFormat } from '../../cli/data.ts';
import { examples, formatOption, reasonOption } from '../../cli/options.ts';
import { print } from '../../cli/print.ts';
import type { SchedulesFormat } from '../../schedules/print-schedules.ts';
import { inSession, type Session } from '../../session/session.ts';

const load = () =>
  Promise.all([import('../../schedules/read-schedules.ts'), import('../../schedules/print-schedules.ts')] as const);

/** `drover schedules`: operations that are made again and again. */
export const schedulesCommand = (): Command =>
  new Command('schedules')
    .description('operations that are made at the times of a cron, such as a stop each evening')
    .addHelpText(
      'after',
      examples(
        [
          'Make one',
          'drover vm stop -l office=yes --schedule "0 20 * * 1-5" --time-zone Europe/Zurich --name office-stop',
        ],
        ['All of the cluster, with their last and next times', 'drover schedules get -A'],
        ['No operation over the holidays', 'drover schedules suspend office-stop --reason holidays'],
        ['Now, in addition to its times', 'drover schedules run office-stop'],
      ),
    )
    .addCommand(getCommand(), { isDefault: true })
    .addCommand(describeCommand())
    .addCommand(suspendCommand())
    .addCommand(resumeCommand())
    .addCommand(runCommand())
    .addCommand(deleteCommand());

const getCommand = (): Command =>
  new Command('get')
    .description('list schedules')
    .option('-A, --all-namespaces', 'in all namespaces')
    .addOption(formatOption(['json', 'yaml', 'name']))
    .action((options: { allNamespaces?: boolean; output?: SchedulesFormat }, command: Command) =>
      inSession(command, async (session) => {
        const [{ listSchedules }, { printSchedules }] = await load();
        const namespace = options.allNamespaces === true ? undefined : await session.namespace();
        await printSchedules(await listSchedules(await session.kube(), namespace), options.output);
      }),
    );

const describeCommand = (): Command =>
  onOne('describe', 'show when it last made an operation, how that ended, and when the next is due')
    .addOption(formatOption(['json', 'yaml']))
    .action((name: string, { output }: { output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const [, schedule] = await oneOf(session, name);
        const [, { linesOf, printData }] = await load();
        if (output !== undefined) return printData([schedule], output, { isOne: true });
        return print(linesOf(schedule).join('\n'));
      }),
    );

const suspendCommand = (): Command =>
  onOne('suspend', 'make no operation until `resume`; those in progress continue')
    .addOption(reasonOption('the annotations of the schedule'))
    .action((name: string, { reason }: { reason?: string }, command: Command) =>
      setSuspend(command, name, true, reason),
    );

const resumeCommand = (): Command =>
  onOne('resume', 'continue with the next time; times that have passed meanwhile are not made up for').action(
    (name: string, _options: object, command: Command) => setSuspend(command, name, false),
  );

const runCommand = (): Command =>
  onOne('run', 'make its operation now, with your own rights, in addition to those of its times')
    .option('--no-wait', 'return as soon as it has begun')
    .action((name: string, { wait }: { wait: boolean }, command: Command) =>
      inSession(command, async (session) => {
        const [, schedule] = await oneOf(session, name);
        const [{ operationNow }, { makeAndFollow }, { usernameIn }] = await Promise.all([
          import('../../schedules/make.ts'),
          import('../../operations/make.ts'),
          import('../../session/requester.ts'),
        ]);
        const operation = operationNow(schedule, await usernameIn(() => session.kube()));
        const what = `what schedule ${name} makes`;
        await makeAndFollow(session, { operation, what, tellDryRun: () => {} }, { dryRun: 'none', wait });
      }),
    );

const deleteCommand = (): Command =>
  onOne('delete', 'delete the schedule and its operations; those in progress are aborted by that').action(
    (name: string, _options: object, command: Command) =>
      inSession(command, async (session) => {
        const [kube, { metadata }] = await oneOf(session, name);
        const { namespace, uid } = metadata;
        await kube.delete(VirtualMachineOperationSchedules, { namespace, name }, { uid });
        print(`schedule ${namespace}/${name} deleted`);
      }),
  );

const onOne = (verb: string, description: string): Command =>
  new Command(verb).description(description).argument('<name>');

async function oneOf(session: Session, name: string): Promise<[KubeClient, StoredSchedule]> {
  const [{ readSchedule }] = await load();
  const kube = await session.kube();
  return [kube, await readSchedule(kube, await session.namespace(), name)];
}

const setSuspend = (command: Command, name: string, suspend: boolean, reason?: string): Promise<void> =>
  inSession(command, async (session) => {
    const [kube, schedule] = await oneOf(session, name);
    const [one, { nameOf }] = await load();
    await one.setSuspend(kube, schedule, suspend, reason);
    print(`schedule ${nameOf(schedule)} ${suspend ? 'suspended' : 'resumed'}`);
  });
