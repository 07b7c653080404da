import { dryRunOption } from '../cli/options.ts';
import { parseDuration } from '../cli/parse-values.ts';
import { Command } from './command.ts';

const pruneDisksCommand = (): Command =>
  new Command('prune')
    .description('delete kept disks, and what is on them')
    .argument('[names...]', 'names of claims, as `kubectl get pvc -l drover.dev/kept-disk` shows them')
    .option('--pool <name>', 'only disks of this pool, even if the pool was deleted')
    .option('--orphaned', 'only disks whose pool was deleted')
    .option('--older-than <duration>', 'only disks kept for longer than this, such as 90m or 720h', parseDuration)
    .option('--all', 'all of the namespace')
    .addOption(dryRunOption())
    .examples(
      ['See what would be deleted', 'drover disks prune --orphaned --dry-run'],
      ['What a pool has kept for more than 30 days', 'drover disks prune --pool web --older-than 720h'],
      ['One disk', 'drover disks prune data-3'],
    )
    .does(async () => (await import('../disks/prune-and-adopt.ts')).pruneDisks);

const adoptDisksCommand = (): Command =>
  new Command('adopt')
    .description('give a pool the disks that an earlier pool of its name has kept')
    .argument(
      '[names...]',
      'names of claims, as `kubectl get pvc -l drover.dev/kept-disk` shows them (default: all that it has kept)',
    )
    .option('--pool <name>', 'the pool')
    .addOption(dryRunOption())
    .examples(['Give them to a pool that was recreated', 'drover disks adopt --pool web'])
    .does(async () => (await import('../disks/prune-and-adopt.ts')).adoptDisks);

export const disksCommand = (): Command =>
  new Command('disks')
    .description('disks that VMs have left, kept for the next VMs of their numbers')
    .commandsBelow([pruneDisksCommand(), adoptDisksCommand()]);
