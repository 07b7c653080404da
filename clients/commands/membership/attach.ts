import { Command } from 'commander';
import { dryRunOption, examples, reasonOption } from '../../cli/options.ts';
import { vmNamesOf } from '../../cli/targets.ts';
import type { AttachOptions } from '../../membership/attach.ts';
import { inSession } from '../../session/session.ts';
import { timeoutOption } from './options.ts';

export const attachCommand = (): Command =>
  new Command('attach')
    .description('return detached VMs to their pool and raise its replicas; they keep running untouched')
    .argument('<vms...>', 'the names of the VMs')
    .option('--pool <name>', 'the pool (default: the one that each was detached from)')
    .option('--keep-replicas', 'keep spec.replicas as it is: surplus VMs then leave')
    .addOption(timeoutOption())
    .addOption(reasonOption('history'))
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['Back to the pool that it was detached from', 'drover attach web-3'],
        ['Back, and another VM leaves in its place', 'drover attach web-3 --keep-replicas'],
      ),
    )
    .action((words: string[], options: AttachOptions, command: Command) =>
      inSession(command, async (session) => {
        const { attach } = await import('../../membership/attach.ts');
        await attach(session, await session.namespace(), vmNamesOf(words), options);
      }),
    );
