import { Command, Option } from 'commander';
import { throwAll, UsageError } from '../cli/failure.ts';
import { dryRunOption, examples, withManifests, type ManifestOptions } from '../cli/options.ts';
import { namedTargetsOf, Pools } from '../cli/targets.ts';
import { duration, yesOrNo } from '../cli/values.ts';
import type { HowToDelete, PoolKey } from '../pools/delete.ts';
import { inSession, type Session } from '../session/session.ts';

interface DeleteOptions extends ManifestOptions, HowToDelete {
  wait: boolean;
  timeout?: number;
}

export const deleteCommand = (): Command =>
  withManifests(new Command('delete'))
    .description('delete pools; drover takes their VMs down first')
    .argument('[kind]', 'pool, or pool/NAME; left out with -f')
    .argument('[names...]')
    .addOption(
      new Option('--cascade <how>', 'what becomes of the VMs: "orphan" leaves them running')
        .choices(['background', 'foreground', 'orphan'])
        .default('background'),
    )
    .addOption(
      new Option('--wait [boolean]', 'come back when they and their VMs are gone').argParser(yesOrNo).default(true),
    )
    .option('--timeout <duration>', 'how long to wait, such as 90s or 5m (default: without end)', duration)
    .option('--ignore-not-found', 'a pool that is not there is fine')
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['A pool and its VMs', 'drover delete pool web'],
        ['The pools that manifests name', 'drover delete -f pools/ -R'],
        ['The pool alone; its VMs go on', 'drover delete pool web --cascade=orphan'],
        ['Ask for it and come back at once', 'drover delete pool web --wait=false'],
      ),
    )
    .action((word: string | undefined, words: string[], options: DeleteOptions, command: Command) =>
      inSession(command, (session) => remove(session, word === undefined ? [] : [word, ...words], options)),
    );

/** Throws failures only at the end, so that the other pools are deleted. */
async function remove(session: Session, words: string[], options: DeleteOptions): Promise<void> {
  const keys = await keysOf(session, words, options);
  const kube = await session.kube();
  const { deletePools } = await import('../pools/delete.ts');
  const { going, refused } = await deletePools(kube, keys, options);
  const failures: unknown[] = refused;
  if (options.wait && options.dryRun === 'none') {
    const { untilGone } = await import('../pools/wait-for-deletion.ts');
    await untilGone(kube, going, options.timeout).catch((error: unknown) => failures.push(error));
  }
  throwAll(failures);
}

/** Reads all manifests before the first pool is deleted. */
async function keysOf(session: Session, words: string[], options: ManifestOptions): Promise<PoolKey[]> {
  if (options.filename === undefined) {
    if (options.recursive === true) {
      throw new UsageError('-R looks into folders that -f names: give -f, or leave -R out');
    }
    if (words.length === 0) throw new UsageError('which pools? Give pool NAME, or -f FILE');
    const { names } = namedTargetsOf(words, [Pools]);
    const namespace = await session.namespace();
    return names.map((name) => ({ namespace, name }));
  }
  if (words.length > 0) {
    throw new UsageError(`${words.join(' ')}: give either names or -f; each file has an -f of its own`);
  }
  const { readPlan } = await import('../apply/plan.ts');
  const { planned } = await readPlan(session, options);
  return planned.map(({ object: { metadata } }) => ({ namespace: metadata.namespace!, name: metadata.name }));
}
