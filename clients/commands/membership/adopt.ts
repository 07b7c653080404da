import { Command } from 'commander';
import { UsageError } from '../../cli/failure.ts';
import { checkLabelSelector } from '../../cli/label-selector.ts';
import { dryRunOption, examples, reasonOption } from '../../cli/options.ts';
import type { AdoptOptions } from '../../membership/adopt.ts';
import { inSession } from '../../session/session.ts';
import { poolAndVms, timeoutOption } from './options.ts';

export const adoptCommand = (): Command =>
  new Command('adopt')
    .description('adopt VMs without an owner into a pool and raise its replicas; they keep running untouched')
    .argument('<kind>', 'pool NAME, or pool/NAME')
    .argument('[vms...]', 'after the pool: the names of the VMs')
    .option('-l, --selector <selector>', 'all VMs without an owner that have these labels, as in tier=web,!old')
    .option('--keep-replicas', 'keep spec.replicas as it is: surplus VMs then leave')
    .addOption(timeoutOption())
    .addOption(reasonOption('history'))
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['What they would need to match the template', 'drover adopt pool web -l tier=web --dry-run'],
        ['Two, by name', 'drover adopt pool/web web-7 old-web'],
      ),
    )
    .action((word: string, words: string[], options: AdoptOptions & { selector?: string }, command: Command) =>
      inSession(command, async (session) => {
        const { pool, vms } = poolAndVms([word, ...words]);
        const chosen = chosenVms(pool, vms, options.selector);
        const { adopt } = await import('../../membership/adopt.ts');
        await adopt(session, { namespace: await session.namespace(), name: pool }, chosen, options);
      }),
    );

function chosenVms(
  pool: string,
  names: readonly string[],
  selector: string | undefined,
): { names: readonly string[] } | { selector: string } {
  if (selector === undefined) {
    if (names.length === 0) throw new UsageError(`which VMs for pool ${pool}? Give their names, or -l SELECTOR`);
    return { names };
  }
  if (names.length > 0) throw new UsageError(`${names.join(' ')}: give either names or -l`);
  try {
    checkLabelSelector(selector);
  } catch (error) {
    throw new UsageError(`-l: ${(error as Error).message}`, { cause: error });
  }
  return { selector };
}
