import { keepExternal } from '../../decisions/membership/eviction-strategy.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { DeleteOptions as KubeDeleteOptions, KubeClient } from '../../kubernetes/client.ts';
import { isNotFound, KubeError } from '../../kubernetes/errors.ts';
import { unknownKindOf } from '../cli/failure.ts';
import { isPool, type Owner } from '../cli/owner.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { printNote, print, dryRunSuffix, typeLabelOf } from '../cli/print.ts';
import { type NamedOwner } from '../cli/targets.ts';

const POLICIES = { background: 'Background', foreground: 'Foreground', orphan: 'Orphan' } as const;

export interface DeleteOwnersOptions {
  /** What becomes of the members. */
  cascade: keyof typeof POLICIES;
  ignoreNotFound?: boolean;
  dryRun: DryRun;
}

export interface OwnerToDelete extends NamedOwner {
  namespace: string;
}

/** A pool or replica set that is being deleted. */
export interface GoingOwner extends OwnerToDelete {
  uid: string;
}

interface Deleted {
  going: GoingOwner[];
  /** Errors about objects that the server refused to delete, or does not have. */
  refused: KubeError[];
}

/**
 * Deletes pools and replica sets one after another, even if some are refused. Throws if the server can't be reached.
 */
export async function deleteOwners(
  kube: KubeClient,
  keys: OwnerToDelete[],
  how: DeleteOwnersOptions,
): Promise<Deleted> {
  const going: GoingOwner[] = [];
  const refused: KubeError[] = [];
  for (const key of keys) {
    try {
      going.push({ ...key, uid: await deleteOwner(kube, key, how) });
    } catch (error) {
      if (!(error instanceof KubeError) || unknownKindOf(error) !== undefined) throw error;
      if (isNotFound(error) && how.ignoreNotFound === true) printNote(`${key.kind.noun} ${key.name} is not there`);
      else refused.push(error);
    }
  }
  return { going, refused };
}

/** Deletes an object and returns its UID. */
async function deleteOwner(
  kube: KubeClient,
  key: OwnerToDelete,
  { cascade, dryRun }: DeleteOwnersOptions,
): Promise<string> {
  const { kind, namespace, name } = key;
  const { resource } = kind;
  const owner = await kube.get<Owner>(resource, { namespace, name });
  const { uid } = owner.metadata;
  const policy: KubeDeleteOptions = { uid, propagationPolicy: POLICIES[cascade], dryRun: dryRun === 'server' };
  if (dryRun !== 'client') await kube.delete(resource, { namespace, name }, policy);
  print(`${typeLabelOf(resource)} "${name}" deleted${dryRunSuffix(dryRun)}`);
  if (cascade !== 'orphan' && isPool(kind, owner)) printKeptDisks(name, owner);
  if (cascade === 'orphan' && isPool(kind, owner) && owner.spec.drain !== undefined)
    printNote(`pool ${name}: ${keepExternal('its VMs')}`);
  return uid;
}

/** Notes that a deleted pool leaves its kept disks behind. */
function printKeptDisks(name: string, { status }: Pool): void {
  const { keptDisks = 0 } = status ?? {};
  if (keptDisks === 0) return;
  const them = keptDisks === 1 ? '1 kept disk stays' : `${keptDisks} kept disks stay`;
  const commands = `\`drover get disks --pool ${name}\` lists them, \`drover disks prune --pool ${name}\` deletes them`;
  printNote(`pool ${name}: ${them}, and so do those of VMs that are leaving: ${commands}`);
}
