import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { pendingCommand } from './pending.ts';
import { restartVmsCommand } from './restart.ts';
import { restartsCommand } from './restarts.ts';

/** `drover vm` and its commands. */
export function vmCommand(): Command {
  const vm = new Command('vm')
    .description('VMs of any owner: which wait for a restart, and their restart within a budget')
    .addHelpText(
      'after',
      examples(
        ['What waits for a restart, and why', 'drover vm pending -A'],
        ['Restart all of that, a few at a time', 'drover vm restart --pending -A'],
        ['Restart some VMs, one at a time', 'drover vm restart db-1 db-2 db-3 --max-unavailable 1'],
      ),
    );
  for (const command of [pendingCommand(), restartVmsCommand(), restartsCommand()]) vm.addCommand(command);
  return vm;
}
