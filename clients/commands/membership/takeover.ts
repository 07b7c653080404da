import { Command } from 'commander';
import { dryRunOption, examples } from '../../cli/options.ts';
import { namedTargetsOf } from '../../cli/targets.ts';
import { KubeVirtPoolKind } from '../../membership/kubevirt-pool.ts';
import type { TakeoverOptions } from '../../membership/takeover.ts';
import { inSession } from '../../session/session.ts';
import { oneName, timeoutOption } from './options.ts';

export const takeoverCommand = (): Command =>
  new Command('takeover')
    .description(
      "move the VMs of a pool of KubeVirt to a pool of drover's, without a restart; run again, it goes on where it stopped",
    )
    .argument('<kind>', 'vmpool NAME, or vmpool/NAME')
    .argument('[names...]')
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['What would become of each VM', 'drover takeover vmpool web --dry-run'],
        ['Move them', 'drover takeover vmpool web'],
      ),
    )
    .action((word: string, words: string[], options: TakeoverOptions, command: Command) =>
      inSession(command, async (session) => {
        const name = oneName(namedTargetsOf([word, ...words], [KubeVirtPoolKind]).names, 'pool');
        const { takeOver } = await import('../../membership/takeover.ts');
        await takeOver(session, { namespace: await session.namespace(), name }, options);
      }),
    );
