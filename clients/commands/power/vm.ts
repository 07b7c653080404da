import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { runsCommand } from '../operations/operations.ts';
import { pendingCommand } from './pending.ts';
import { migrateVmsCommand, restartVmsCommand, startVmsCommand, stopVmsCommand } from './power.ts';

/** `drover vm` and its commands. */
export function vmCommand(): Command {
  const vm = new Command('vm')
    .description(
      'VMs of any owner: which wait for a restart, and their start, stop, restart and migration, a few at a time',
    )
    .addHelpText(
      'after',
      examples(
        ['What waits for a restart, and why', 'drover vm pending -A'],
        ['Restart all of that, a few at a time', 'drover vm restart --pending -A'],
        ['Restart some VMs, one at a time', 'drover vm restart db-1 db-2 db-3 --max-unavailable 1'],
        ['Move all off pods of an earlier KubeVirt', 'drover vm migrate --outdated -A'],
        ['Stop some VMs of a pool', 'drover vm stop --pool web -l tier=spare'],
        ['Start them again, five at a time', 'drover vm start --pool web -l tier=spare --at-once 5'],
      ),
    );
  const commands = [
    pendingCommand(),
    startVmsCommand(),
    stopVmsCommand(),
    restartVmsCommand(),
    migrateVmsCommand(),
    runsCommand(),
  ];
  for (const command of commands) vm.addCommand(command);
  return vm;
}
