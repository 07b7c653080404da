import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { drainStatusCommand } from './status.ts';

/** `drover drain` and its commands. */
export function drainCommand(): Command {
  const drain = new Command('drain')
    .description('follow how VMs leave nodes that are drained')
    .addHelpText('after', examples(['Which VMIs are left, and what each waits for', 'drover drain status worker-7']));
  return drain.addCommand(drainStatusCommand());
}
