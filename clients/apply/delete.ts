import { throwAll, UsageError } from '../cli/failure.ts';
import { OWNERS } from '../cli/kinds.ts';
import type { ManifestOptions } from '../cli/options.ts';
import { namedTargetsOf } from '../cli/targets.ts';
import { deleteOwners, type DeleteOwnersOptions, type OwnerToDelete } from '../owners/delete.ts';
import { waitForDeletion } from '../owners/wait-for-deletion.ts';
import type { Session, Work } from '../session/session.ts';
import { readPlan } from './plan.ts';

interface DeleteFlags extends ManifestOptions, DeleteOwnersOptions {
  wait: boolean;
  timeout?: number;
}

/** Deletes the pools and sets that words or manifests name. Throws failures only at the end, so that the others go. */
export const deleteNamed: Work<DeleteFlags> = async (session, options, ...args) => {
  const keys = await keysOf(session, args, options);
  const kube = await session.kube();
  const { going, refused } = await deleteOwners(kube, keys, options);
  const failures: unknown[] = refused;
  if (options.wait && options.dryRun === 'none') {
    await waitForDeletion(kube, going, options.timeout).catch((error: unknown) => failures.push(error));
  }
  throwAll(failures);
};

/** Reads all manifests before the first object is deleted. */
async function keysOf(session: Session, args: string[], options: ManifestOptions): Promise<OwnerToDelete[]> {
  if (options.filename === undefined) {
    if (options.recursive === true) {
      throw new UsageError('-R looks into folders that -f names: give -f, or leave -R out');
    }
    if (args.length === 0) throw new UsageError('which one? Give KIND NAME, such as pool web, or -f FILE');
    const { kind, names } = namedTargetsOf(args, OWNERS);
    const namespace = await session.namespace();
    return names.map((name) => ({ kind, namespace, name }));
  }
  if (args.length > 0) {
    throw new UsageError(`${args.join(' ')}: give either names or -f; each file has an -f of its own`);
  }
  const { planned } = await readPlan(session, options);
  return planned.map(({ kind, object: { metadata } }) => ({
    kind,
    namespace: metadata.namespace!,
    name: metadata.name,
  }));
}
