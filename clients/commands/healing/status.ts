import { Command } from 'commander';
import type { DataFormat } from '../../cli/data.ts';
import { examples, formatOption } from '../../cli/options.ts';
import { note } from '../../cli/print.ts';
import { inSession, type Session } from '../../session/session.ts';

interface StatusOptions {
  watch?: boolean;
  output?: DataFormat;
}

export const healStatusCommand = (): Command =>
  new Command('status')
    .description('VMs that are being replaced: which attempt, why, and when next; and how the last replacements ended')
    .argument('[kind]', 'pool, or pool/NAME', 'pools')
    .argument('[names...]')
    .option('-w, --watch', 'show it as it changes, until Ctrl-C')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .addHelpText(
      'after',
      examples(
        ['All pools of the namespace, now', 'drover heal status'],
        ['One of them, as it changes', 'drover heal status pool web --watch'],
        [
          'VMs that were given up',
          'drover heal status pool web -o json | jq -r \'.finished[] | select(.end == "GivenUp").vm\'',
        ],
      ),
    )
    .action((word: string, words: string[], options: StatusOptions, command: Command) =>
      inSession(command, (session) => status(session, [word, ...words], options)),
    );

async function status(session: Session, words: string[], { watch, output }: StatusOptions): Promise<void> {
  const [{ poolsOf }, { followHealing, printHealing }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../healing/healing-status.ts'),
  ]);
  const pools = await poolsOf(session, words);
  if (pools.length === 0) return note(`No resources found in ${await session.namespace()} namespace.`);
  if (watch === true) await followHealing(await session.kube(), pools);
  else await printHealing(pools, output);
}
