import { Command } from 'commander';
import { UsageError } from '../cli/failure.ts';
import { firstWords, OWNERS } from '../cli/kinds.ts';
import { dryRunOption, dryRunRemark, examples } from '../cli/options.ts';
import { print } from '../cli/output.ts';
import { labelOf, namedTargetsOf } from '../cli/targets.ts';
import { count, type DryRun } from '../cli/values.ts';
import { scale, type ScaleOptions } from '../owners/scale.ts';
import { inSession } from '../session/session.ts';

export const scaleCommand = (): Command =>
  new Command('scale')
    .description('set how many VMs a pool or a replica set has')
    .argument('<kind>', `${firstWords(OWNERS)}, or KIND/NAME`)
    .argument('[names...]')
    .option('--replicas <count>', 'how many VMs', count)
    .option('--current-replicas <count>', 'only where so many are wanted now', count)
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['Ten VMs', 'drover scale pool web --replicas 10'],
        ['Five in a replica set', 'drover scale vmrs runners --replicas 5'],
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
        const { kind, names } = namedTargetsOf([word, ...words], OWNERS);
        const kube = await session.kube();
        const namespace = await session.namespace();
        for (const name of names) {
          await scale(kube, kind, { namespace, name }, { ...options, replicas });
          print(`${labelOf(kind.resource, name)} scaled${dryRunRemark(options.dryRun)}`);
        }
      }),
    );
