import { Command } from 'commander';
import { Pools } from '../../cli/kinds.ts';
import { dryRunOption, examples } from '../../cli/options.ts';
import { namedTargetsOf } from '../../cli/targets.ts';
import type { ReleaseOptions } from '../../membership/release.ts';
import { inSession } from '../../session/session.ts';
import { oneName, timeoutOption } from './options.ts';

export const releaseCommand = (): Command =>
  new Command('release')
    .description(
      'move the VMs of a pool to a pool of KubeVirt, without a restart; also takes back a takeover that has not ended',
    )
    .argument('<kind>', 'pool NAME, or pool/NAME')
    .argument('[names...]')
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['What KubeVirt has no words for', 'drover release pool web --dry-run'],
        ['Move them', 'drover release pool web'],
      ),
    )
    .action((word: string, words: string[], options: ReleaseOptions, command: Command) =>
      inSession(command, async (session) => {
        const name = oneName(namedTargetsOf([word, ...words], [Pools]).names, 'pool');
        const { release } = await import('../../membership/release.ts');
        await release(session, { namespace: await session.namespace(), name }, options);
      }),
    );
