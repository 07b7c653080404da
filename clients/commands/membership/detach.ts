import { Command } from 'commander';
import { dryRunOption, examples, reasonOption } from '../../cli/options.ts';
import { vmNamesOf } from '../../cli/targets.ts';
import type { DetachOptions } from '../../membership/detach.ts';
import { inSession } from '../../session/session.ts';
import { timeoutOption } from './options.ts';

export const detachCommand = (): Command =>
  new Command('detach')
    .description('take VMs out of their pools; they keep running untouched, and their numbers are not reused meanwhile')
    .argument('<vms...>', 'the names of the VMs')
    .option('--decrement', 'lower replicas by the number of VMs; by default the pool creates replacements')
    .addOption(timeoutOption())
    .addOption(reasonOption('history'))
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['Look into a VM while another request replaces it', 'drover detach web-3'],
        ['Keep a VM, and make the pool one smaller', 'drover detach web-3 --decrement'],
      ),
    )
    .action((words: string[], options: DetachOptions, command: Command) =>
      inSession(command, async (session) => {
        const names = vmNamesOf(words);
        const { detach } = await import('../../membership/detach.ts');
        await detach(session, await session.namespace(), names, options);
      }),
    );
