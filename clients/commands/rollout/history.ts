import { Command } from 'commander';
import type { DataFormat } from '../../cli/data.ts';
import { examples, formatOption } from '../../cli/options.ts';
import { note, print } from '../../cli/print.ts';
import { inSession, type Session } from '../../session/session.ts';

interface HistoryOptions {
  revision?: string;
  output?: DataFormat;
}

export const historyCommand = (): Command =>
  new Command('history')
    .description('list the templates that a pool has had, who asked for them, and how many VMs have them')
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .option('--revision <number|hash>', 'the template of this revision, as YAML')
    .addOption(formatOption(['json', 'yaml']))
    .addHelpText(
      'after',
      examples(
        ['All revisions that are kept', 'drover rollout history pool web'],
        ['The template of one', 'drover rollout history pool web --revision 3'],
      ),
    )
    .action((word: string, words: string[], options: HistoryOptions, command: Command) =>
      inSession(command, (session) =>
        options.revision === undefined
          ? list(session, [word, ...words], options.output)
          : show(session, [word, ...words], options.revision, options.output ?? 'yaml'),
      ),
    );

async function list(session: Session, words: string[], output: DataFormat | undefined): Promise<void> {
  const [{ namedPools }, { historyOf, historyTable }, { printData }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../rollout/history.ts'),
    import('../../cli/data.ts'),
  ]);
  const pools = await namedPools(session, words);
  const kube = await session.kube();
  for (const [index, pool] of pools.entries()) {
    const { name } = pool.metadata;
    const entries = await historyOf(kube, pool);
    if (output !== undefined) await printData({ pool: name, revisions: entries }, output);
    else if (entries.length === 0)
      note(`pool ${name} has no revisions yet: a worker keeps them as it takes the pool up`);
    else {
      if (pools.length > 1) print(`${index === 0 ? '' : '\n'}pool ${name}`);
      print(historyTable(entries, Date.now()).join('\n'));
    }
  }
}

async function show(session: Session, words: string[], revision: string, output: DataFormat): Promise<void> {
  const [{ onePool }, { findRevision, readRevisions }, { printData }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../rollout/revisions.ts'),
    import('../../cli/data.ts'),
  ]);
  const pool = await onePool(session, words);
  const { template } = findRevision(await readRevisions(await session.kube(), pool), revision, pool.metadata.name);
  await printData(template, output);
}
