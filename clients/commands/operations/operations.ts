import { Command } from 'commander';
import type { OperationAction } from '../../../api/operations/operation.ts';
import { operationName, operationResource } from '../../../decisions/operations/ref.ts';
import type { DataFormat } from '../../cli/data.ts';
import { examples, formatOption, reasonOption } from '../../cli/options.ts';
import { note, print } from '../../cli/print.ts';
import type { OperationsFormat } from '../../operations/print-operations.ts';
import { inSession, type Session } from '../../session/session.ts';

const CONTROLS = {
  pause: {
    spec: { paused: true },
    done: 'paused',
    description: 'touch no further VM until `resume`; those in progress are followed to their end',
  },
  resume: { spec: { paused: false }, done: 'resumed', description: 'continue after a pause' },
  abort: {
    spec: { aborted: true },
    done: 'aborted',
    description: 'touch no further VM; the operation ends once those in progress are done',
  },
} as const;

const WITHOUT = 'NAME, or cvmop/NAME of one that is cluster-wide; without a name, the running one';

interface ShowOptions {
  watch?: boolean;
  output?: DataFormat;
}

/** Operations of which some commands are about those with one action, in all namespaces if none is given. */
interface About {
  action?: OperationAction;
}

/** The namespace in which operations are looked for; undefined for all. */
const namespaceFor = async (session: Session, { action }: About): Promise<string | undefined> =>
  action === undefined ? session.namespace() : session.globals.namespace;

/** The commands for operations, under the two names that lists and views of them have: `get` or `list`, and so on. */
export function commandsFor(list: string, show: string, about: About = {}): Command[] {
  const listCommand = new Command(list)
    .description('list operations, the newest first')
    .option('-A, --all-namespaces', 'in all namespaces')
    .addOption(formatOption(['json', 'yaml', 'name']))
    .action((options: { allNamespaces?: boolean; output?: OperationsFormat }, command: Command) =>
      inSession(command, async (session) => {
        const [{ listOperations }, { printOperations }] = await Promise.all([
          load(),
          import('../../operations/print-operations.ts'),
        ]);
        const namespace = options.allNamespaces === true ? undefined : await namespaceFor(session, about);
        const listed = await listOperations(await session.kube(), namespace, about.action);
        await printOperations(listed, options.output, about.action);
      }),
    );
  const showCommand = new Command(show)
    .description('how far an operation is, what it waits for, what failed, and what it leaves alone')
    .argument('[name]', `${WITHOUT}, or the newest`)
    .option('-w, --watch', 'keep watching until it is over: the exit code is 0 when all was done')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .action((name: string | undefined, options: ShowOptions, command: Command) =>
      inSession(command, (session) => showOne(session, name, options, about)),
    );
  const controls = Object.entries(CONTROLS).map(([verb, { spec, done, description }]) => {
    const command = new Command(verb).description(description).argument('[name]', WITHOUT);
    if (verb !== 'resume') command.addOption(reasonOption('the status'));
    return command.action((name: string | undefined, { reason }: { reason?: string }, ran: Command) =>
      inSession(ran, async (session) => {
        const { checkName, findOperation, steer } = await load();
        checkName(name);
        const kube = await session.kube();
        const namespace = await namespaceFor(session, about);
        const meant = await findOperation(kube, namespace, name, { orNewest: false, ...about });
        await steer(kube, meant, spec, reason);
        print(`operation ${operationName(meant.metadata)} ${done}`);
      }),
    );
  });
  return [listCommand, showCommand, ...controls];
}

const load = () => import('../../operations/find-operation.ts');

async function showOne(
  session: Session,
  name: string | undefined,
  { watch, output }: ShowOptions,
  about: About,
): Promise<void> {
  const [{ checkName, findOperation }, { linesOf, printObjects }, { followOperation }] = await Promise.all([
    load(),
    import('../../operations/print-operations.ts'),
    import('../../operations/follow.ts'),
  ]);
  checkName(name);
  const kube = await session.kube();
  const meant = await findOperation(kube, await namespaceFor(session, about), name, { orNewest: true, ...about });
  if (watch === true) return followOperation(kube, meant);
  if (output !== undefined) return printObjects([meant], output, { isOne: true });
  return print(linesOf(meant, Date.now()).join('\n'));
}

/** `drover operations`: what users have asked to be done to VMs once. */
export function operationsCommand(): Command {
  const operations = new Command('operations')
    .description(
      'list, follow and control operations on VMs: restarts, starts, stops, migrations and changes of machine types',
    )
    .addHelpText(
      'after',
      examples(
        ['All of the cluster', 'drover operations get -A'],
        ['Follow the running one', 'drover operations describe --watch'],
        ['What the newest has done, VM by VM', 'drover operations logs'],
        [
          'Pause one, and resume it',
          'drover operations pause restart-x7k2p --reason lunch && drover operations resume restart-x7k2p',
        ],
      ),
    );
  for (const command of commandsFor('get', 'describe'))
    operations.addCommand(command, { isDefault: command.name() === 'get' });
  return operations.addCommand(logsCommand()).addCommand(deleteCommand());
}

const logsCommand = (): Command =>
  new Command('logs')
    .description('what an operation has done: to which VMs, when, and how that ended')
    .argument('[name]', `${WITHOUT}, or the newest`)
    .addOption(formatOption(['json', 'yaml']))
    .action((name: string | undefined, { output }: { output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const [{ checkName, findOperation }, { actsOfOperation }, { actionsTable, grouped }, { printData }] =
          await Promise.all([
            load(),
            import('../../operations/acts.ts'),
            import('../../history/table.ts'),
            import('../../cli/data.ts'),
          ]);
        checkName(name);
        const meant = await findOperation(await session.kube(), await session.namespace(), name, { orNewest: true });
        const acts = grouped(await actsOfOperation(session, meant));
        if (output !== undefined) return printData(acts, output);
        if (acts.length > 0) return print(actionsTable(acts, 'VM').join('\n'));
        note(`operation ${operationName(meant.metadata)} has done nothing to any VM yet`);
      }),
    );

const deleteCommand = (): Command =>
  new Command('delete')
    .description('delete an operation; a running one is aborted by that')
    .argument('<name>')
    .action((name: string, _options: object, command: Command) =>
      inSession(command, async (session) => {
        const { checkName, findOperation } = await load();
        checkName(name);
        const kube = await session.kube();
        const { metadata } = await findOperation(kube, await session.namespace(), name, { orNewest: false });
        await kube.delete(operationResource(metadata), metadata, { uid: metadata.uid });
        print(`operation ${operationName(metadata)} deleted`);
      }),
    );

/** `drover vm runs`: the same, as users know it. */
export function runsCommand(): Command {
  const runs = new Command('runs')
    .description('list, follow and control what `drover vm start`, `stop` and `restart` have begun')
    .addHelpText('after', examples(['Follow the running one', 'drover vm runs status --watch']));
  for (const command of commandsFor('list', 'status'))
    runs.addCommand(command, { isDefault: command.name() === 'list' });
  return runs;
}
