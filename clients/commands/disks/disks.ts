import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { adoptDisksCommand } from './adopt.ts';
import { pruneDisksCommand } from './prune.ts';

/** `drover disks` and its commands. */
export function disksCommand(): Command {
  const disks = new Command('disks')
    .description('disks that VMs have left, kept for the next VMs of their numbers')
    .addHelpText(
      'after',
      examples(
        ['List them', 'drover get disks'],
        ['Delete those whose pool was deleted', 'drover disks prune --orphaned'],
        ['Give them to a pool that was recreated', 'drover disks adopt --pool web'],
      ),
    );
  for (const command of [pruneDisksCommand(), adoptDisksCommand()]) disks.addCommand(command);
  return disks;
}
