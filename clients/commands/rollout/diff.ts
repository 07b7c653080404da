import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { note, print } from '../../cli/print.ts';
import { inSession, type Session } from '../../session/session.ts';

interface DiffOptions {
  revision?: string;
  to?: string;
}

export const diffCommand = (): Command =>
  new Command('diff')
    .description(
      'show what differs between two templates of a pool, and what it takes to bring VMIs from one to the other',
    )
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .option('--revision <number|hash>', 'from this one (default: the last one that all VMs had)')
    .option('--to <number|hash>', 'to this one (default: the template that the pool has now)')
    .addHelpText(
      'after',
      examples(
        ['What is rolled out now', 'drover rollout diff pool web'],
        ['What has changed since revision 3', 'drover rollout diff pool web --revision 3'],
        ['Two earlier ones', 'drover rollout diff pool web --revision 2 --to 3'],
      ),
    )
    .action((word: string, words: string[], options: DiffOptions, command: Command) =>
      inSession(command, (session) => diff(session, [word, ...words], options)),
    );

async function diff(session: Session, words: string[], { revision, to }: DiffOptions): Promise<void> {
  const [{ onePool }, { readRevisions }, { sidesOf, templateDiff }, { disruptionOf }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../rollout/revisions.ts'),
    import('../../rollout/diff.ts'),
    import('../../rollout/disruption.ts'),
  ]);
  const pool = await onePool(session, words);
  const kube = await session.kube();
  const [before, after] = sidesOf(pool, await readRevisions(kube, pool), { from: revision, to });
  const lines = templateDiff(before, after);
  if (lines.length === 0) return note(`${before.title} and ${after.title} do not differ`);
  print(lines.join('\n'));
  print(`\n${await disruptionOf(kube, pool, before.template, after.template)}`);
}
