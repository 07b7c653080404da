import { Command } from 'commander';
import { Failure, UsageError } from '../../cli/failure.ts';
import { dryRunOption, dryRunRemark, examples } from '../../cli/options.ts';
import { parseDuration, type DryRun } from '../../cli/parse-values.ts';
import { note, print } from '../../cli/print.ts';
import { keptClaims } from '../../disks/kept.ts';
import { disksToPrune, deleteKept, type KeptDiskChoice } from '../../disks/prune.ts';
import { inSession, type Session } from '../../session/session.ts';

interface PruneOptions extends Omit<KeptDiskChoice, 'names'> {
  all?: boolean;
  dryRun: DryRun;
}

export const pruneDisksCommand = (): Command =>
  new Command('prune')
    .description('delete kept disks, and what is on them')
    .argument('[names...]', 'of claims, as `drover get disks` shows them')
    .option('--pool <name>', 'those of this pool, even if the pool was deleted')
    .option('--orphaned', 'those whose pool was deleted')
    .option('--older-than <duration>', 'those kept for longer than this, such as 90m or 720h', parseDuration)
    .option('--all', 'all of the namespace')
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['See what would be deleted', 'drover disks prune --orphaned --dry-run'],
        ['What a pool has kept for more than 30 days', 'drover disks prune --pool web --older-than 720h'],
        ['One disk', 'drover disks prune data-3'],
      ),
    )
    .action((names: string[], options: PruneOptions, command: Command) =>
      inSession(command, (session) => prune(session, names, options)),
    );

async function prune(session: Session, names: string[], { all, dryRun, ...choice }: PruneOptions): Promise<void> {
  const isNarrow =
    names.length > 0 || choice.pool !== undefined || choice.orphaned === true || choice.olderThan !== undefined;
  if (isNarrow === (all === true))
    throw new UsageError('which kept disks? Give names, --pool, --orphaned or --older-than, or --all alone');
  const [kube, namespace] = [await session.kube(), await session.namespace()];
  const claims = await keptClaims(kube, namespace);
  const missing = names.filter((name) => !claims.some(({ claim }) => claim.metadata.name === name));
  if (missing.length > 0)
    throw new Failure(`${missing.join(', ')}: no kept disk of namespace ${namespace}; \`drover get disks\` lists them`);
  const found = disksToPrune(claims, { ...choice, names }, Date.now());
  if (found.length === 0) return note(`No kept disks to delete in ${namespace} namespace.`);
  for (const one of found) {
    const { name } = one.claim.metadata;
    const why = dryRun === 'client' ? null : await deleteKept(kube, one, dryRun === 'server');
    if (why === null) print(`persistentvolumeclaim/${name} deleted${dryRunRemark(dryRun)}`);
    else note(`persistentvolumeclaim/${name} left: ${why}`);
  }
}
