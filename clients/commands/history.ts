import { Command } from 'commander';
import { UsageError } from '../failure.ts';
import { examples, formatOption } from '../options.ts';
import { note, print } from '../output.ts';
import type { DataFormat } from '../rollout/data.ts';
import { inSession, type Session } from '../session.ts';
import { namedTargetsOf, Pools } from '../targets.ts';

interface HistoryOptions {
  vm?: string;
  output?: DataFormat;
}

export const historyCommand = (): Command =>
  new Command('history')
    .description("what drover has done to a pool's VMs, as far back as Temporal keeps it: when, from what to what, who asked, how it ended")
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .option('--vm <name>', 'only what was done to this VM')
    .addOption(formatOption(['json', 'yaml']))
    .addHelpText(
      'after',
      examples(
        ['Everything that was done to the VMs of a pool', 'drover history pool web'],
        ['What has become of one of them', 'drover history pool web --vm web-3'],
        ['What went wrong', "drover history pool web -o json | jq '.[] | select(.end == \"Failed\")'"],
      ),
    )
    .action((word: string, words: string[], options: HistoryOptions, command: Command) =>
      inSession(command, (session) => history(session, [word, ...words], options)),
    );

/** The pool itself may be gone. */
async function history(session: Session, words: string[], { vm, output }: HistoryOptions): Promise<void> {
  const { names } = namedTargetsOf(words, [Pools]);
  if (names.length > 1) throw new UsageError(`${names.join(' ')}: one pool at a time`);
  const [{ readActions }, { aboutVm, actionsTable, grouped }, { printData }] = await Promise.all([
    import('../history/read.ts'),
    import('../history/table.ts'),
    import('../rollout/data.ts'),
  ]);
  const { client } = await session.temporal();
  const name = names[0]!;
  const all = await readActions(client, { cluster: session.cluster, namespace: await session.namespace(), name });
  const actions = grouped(vm === undefined ? all : aboutVm(all, vm));
  if (output !== undefined) return printData(actions, output);
  if (actions.length > 0) return print(actionsTable(actions).join('\n'));
  note(`Temporal knows of nothing that was done to ${vm === undefined ? `VMs of pool ${name}` : vm}`);
}
