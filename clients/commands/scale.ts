import { Command } from 'commander';
import { UsageError } from '../cli/failure.ts';
import { dryRunOption, dryRunRemark, examples } from '../cli/options.ts';
import { print } from '../cli/output.ts';
import { labelOf, namedTargetsOf, Pools } from '../cli/targets.ts';
import { count, type DryRun } from '../cli/values.ts';
import { scale, type ScaleOptions } from '../pools/scale.ts';
import { inSession } from '../session/session.ts';

export const scaleCommand = (): Command =>
  new Command('scale')
    .description('set how many VMs a pool has')
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .option('--replicas <count>', 'how many VMs', count)
    .option('--current-replicas <count>', 'only where the pool is meant to have so many now', count)
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['Ten VMs', 'drover scale pool web --replicas 10'],
        [
          'Ten, unless somebody else has changed it from five',
          'drover scale pool web --current-replicas 5 --replicas 10',
        ],
      ),
    )
    .action((word: string, words: string[], options: Partial<ScaleOptions> & { dryRun: DryRun }, command: Command) =>
      inSession(command, async (session) => {
        const { replicas } = options;
        if (replicas === undefined) throw new UsageError('how many VMs? Give --replicas');
        const { kind, names } = namedTargetsOf([word, ...words], [Pools]);
        const kube = await session.kube();
        const namespace = await session.namespace();
        for (const name of names) {
          await scale(kube, kind.resource, { namespace, name }, { ...options, replicas });
          print(`${labelOf(kind.resource, name)} scaled${dryRunRemark(options.dryRun)}`);
        }
      }),
    );
