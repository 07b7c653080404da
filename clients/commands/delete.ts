import { Command, Option } from 'commander';
import { throwAll, UsageError } from '../cli/failure.ts';
import { kindArguments, OWNERS } from '../cli/kinds.ts';
import { dryRunOption, examples, withManifests, type ManifestOptions } from '../cli/options.ts';
import { parseDuration, parseBoolean } from '../cli/parse-values.ts';
import { namedTargetsOf } from '../cli/targets.ts';
import type { DeleteOwnersOptions, OwnerToDelete } from '../owners/delete.ts';
import { inSession, type Session } from '../session/session.ts';

interface DeleteOptions extends ManifestOptions, DeleteOwnersOptions {
  wait: boolean;
  timeout?: number;
}

export const deleteCommand = (): Command =>
  withManifests(new Command('delete'))
    .description('delete pools and replica sets; drover deletes their VMs first')
    .argument('[kind]', `${kindArguments(OWNERS)}, or KIND/NAME; left out with -f`)
    .argument('[names...]')
    .addOption(
      new Option('--cascade <how>', 'what becomes of the VMs: "orphan" leaves them running')
        .choices(['background', 'foreground', 'orphan'])
        .default('background'),
    )
    .addOption(
      new Option('--wait [boolean]', 'wait until they and their VMs are deleted').argParser(parseBoolean).default(true),
    )
    .option('--timeout <duration>', 'how long to wait, such as 90s or 5m (default: no limit)', parseDuration)
    .option('--ignore-not-found', 'ignore objects that do not exist')
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['A pool and its VMs', 'drover delete pool web'],
        ['A replica set and its VMs', 'drover delete vmrs runners'],
        ['Everything that manifests name', 'drover delete -f pools/ -R'],
        ['The pool alone; its VMs keep running', 'drover delete pool web --cascade=orphan'],
        ['Request it and return at once', 'drover delete pool web --wait=false'],
      ),
    )
    .action((word: string | undefined, words: string[], options: DeleteOptions, command: Command) =>
      inSession(command, (session) => remove(session, word === undefined ? [] : [word, ...words], options)),
    );

/** Throws failures only at the end, so that the others are deleted. */
async function remove(session: Session, words: string[], options: DeleteOptions): Promise<void> {
  const keys = await keysOf(session, words, options);
  const kube = await session.kube();
  const { deleteOwners } = await import('../owners/delete.ts');
  const { going, refused } = await deleteOwners(kube, keys, options);
  const failures: unknown[] = refused;
  if (options.wait && options.dryRun === 'none') {
    const { waitForDeletion } = await import('../owners/wait-for-deletion.ts');
    await waitForDeletion(kube, going, options.timeout).catch((error: unknown) => failures.push(error));
  }
  throwAll(failures);
}

/** Reads all manifests before the first object is deleted. */
async function keysOf(session: Session, words: string[], options: ManifestOptions): Promise<OwnerToDelete[]> {
  if (options.filename === undefined) {
    if (options.recursive === true) {
      throw new UsageError('-R looks into folders that -f names: give -f, or leave -R out');
    }
    if (words.length === 0) throw new UsageError('which one? Give KIND NAME, such as pool web, or -f FILE');
    const { kind, names } = namedTargetsOf(words, OWNERS);
    const namespace = await session.namespace();
    return names.map((name) => ({ kind, namespace, name }));
  }
  if (words.length > 0) {
    throw new UsageError(`${words.join(' ')}: give either names or -f; each file has an -f of its own`);
  }
  const { readPlan } = await import('../apply/plan.ts');
  const { planned } = await readPlan(session, options);
  return planned.map(({ kind, object: { metadata } }) => ({
    kind,
    namespace: metadata.namespace!,
    name: metadata.name,
  }));
}
