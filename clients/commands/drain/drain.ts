import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { drainCancelCommand } from './cancel.ts';
import { drainStartCommand } from './start.ts';
import { drainStatusCommand } from './status.ts';

/** `drover drain` and its commands. */
export function drainCommand(): Command {
  const drain = new Command('drain')
    .description('have VMs leave a node, see what each waits for, and cancel that')
    .addHelpText(
      'after',
      examples(
        ['Empty a node of its VMs', 'drover drain start worker-7 --reason "kernel update"'],
        ['Which VMIs are left, and what each waits for', 'drover drain status worker-7'],
        ['Leave the rest where it is', 'drover drain cancel worker-7'],
      ),
    );
  return drain.addCommand(drainStartCommand()).addCommand(drainStatusCommand()).addCommand(drainCancelCommand());
}
