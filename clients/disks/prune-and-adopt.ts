import { KEPT_DISK } from '../../api/labels-and-annotations.ts';
import { DataVolumes, PersistentVolumeClaims, VirtualMachines, VirtualMachinePools } from '../../api/resources.ts';
import { keptDiskOf, type KeptDisk, keptDiskMetadata } from '../../decisions/template/kept-disk.ts';
import { vmName } from '../../decisions/template/vm-names.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, ignoreNotFound } from '../../kubernetes/errors.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { printNote, print, dryRunSuffix } from '../cli/print.ts';
import type { Work } from '../session/session.ts';
import { keptClaims, type ListedClaim } from './kept.ts';

/** Which kept disks; each condition narrows the choice. */
interface KeptDiskChoice {
  names: string[];
  pool?: string;
  orphaned?: boolean;
  /** Milliseconds since they were kept. */
  olderThan?: number;
}

interface PruneFlags extends Omit<KeptDiskChoice, 'names'> {
  all?: boolean;
  dryRun: DryRun;
}

/** Deletes the kept disks that are chosen. Throws `UsageError` if the flags choose none. */
export const pruneDisks: Work<PruneFlags> = async (session, { all, dryRun, ...choice }, ...names) => {
  const isNarrow =
    names.length > 0 || choice.pool !== undefined || choice.orphaned === true || choice.olderThan !== undefined;
  if (isNarrow === (all === true))
    throw new UsageError('which kept disks? Give names, --pool, --orphaned or --older-than, or --all alone');
  const [kube, namespace] = [await session.kube(), await session.namespace()];
  const claims = await keptClaims(kube, namespace);
  const missing = names.filter((name) => !claims.some(({ claim }) => claim.metadata.name === name));
  if (missing.length > 0)
    throw new Failure(
      `${missing.join(', ')}: no kept disk of namespace ${namespace}; \`kubectl get pvc -l ${KEPT_DISK}\` lists them`,
    );
  const found = disksToPrune(claims, { ...choice, names }, Date.now());
  if (found.length === 0) return printNote(`No kept disks to delete in ${namespace} namespace.`);
  await eachOf(found, { done: 'deleted', dryRun }, (one, isDry) => deleteKept(kube, one, isDry));
};

/** Acts on each of these disks, except in a client-side dry run, and prints the outcome of each. */
async function eachOf(
  found: readonly ListedClaim[],
  { done, dryRun }: { done: string; dryRun: DryRun },
  act: (one: ListedClaim, isDry: boolean) => Promise<string | null>,
): Promise<void> {
  for (const one of found) {
    const label = `persistentvolumeclaim/${one.claim.metadata.name}`;
    const message = dryRun === 'client' ? null : await act(one, dryRun === 'server');
    if (message === null) print(`${label} ${done}${dryRunSuffix(dryRun)}`);
    else printNote(`${label} left: ${message}`);
  }
}

function disksToPrune(
  claims: readonly ListedClaim[],
  { names, pool, orphaned, olderThan }: KeptDiskChoice,
  now: number,
): ListedClaim[] {
  return claims.filter(
    ({ claim, kept, ...one }) =>
      (names.length === 0 || names.includes(claim.metadata.name)) &&
      (pool === undefined || kept.pool === pool) &&
      (orphaned !== true || one.orphaned) &&
      (olderThan === undefined || now - Date.parse(kept.keptAt) >= olderThan),
  );
}

/**
 * Deletes a kept disk and the DataVolume that owns it, with preconditions on what was read. Returns null if that is
 * done, or why not if the disk is no longer a kept one: its VM is back, or it is in use again.
 */
async function deleteKept(kube: KubeClient, { claim, kept }: ListedClaim, dryRun: boolean): Promise<string | null> {
  const { namespace, name, uid } = claim.metadata;
  const at = { namespace, name };
  const [now, volume, vm] = await Promise.all([
    ignoreNotFound(kube.get(PersistentVolumeClaims, at)),
    ignoreNotFound(kube.get(DataVolumes, at)),
    ignoreNotFound(kube.get(VirtualMachines, { namespace, name: vmName(kept.pool, kept.number) })),
  ]);
  if (now === undefined) return null;
  const owners = [...(volume?.metadata.ownerReferences ?? []), ...(now.metadata.ownerReferences ?? [])].filter(
    (owner) => owner.uid !== volume?.metadata.uid,
  );
  if (vm !== undefined) return `VM ${vm.metadata.name} is there again`;
  if (owners.length > 0) return `it belongs to ${owners[0]!.kind} ${owners[0]!.name}`;
  if (now.metadata.uid !== uid || !isSame(keptDiskOf(now.metadata), kept)) return 'it was recreated meanwhile';
  try {
    if (volume !== undefined) {
      const { uid: ofVolume, resourceVersion } = volume.metadata;
      await ignoreNotFound(kube.delete(DataVolumes, at, { uid: ofVolume, resourceVersion, dryRun }));
    }
    await ignoreNotFound(
      kube.delete(PersistentVolumeClaims, at, {
        uid,
        ...(volume === undefined ? { resourceVersion: now.metadata.resourceVersion } : {}),
        dryRun,
      }),
    );
    return null;
  } catch (error) {
    if (isConflict(error)) return 'it was changed concurrently';
    throw error;
  }
}

const isSame = (a: KeptDisk | null, b: KeptDisk): boolean =>
  a !== null && a.poolUid === b.poolUid && a.keptAt === b.keptAt;

/** Gives a pool the disks that an earlier pool of its name has kept: all, or the ones that are named. */
export const adoptDisks: Work<{ pool?: string; dryRun: DryRun }> = async (session, { pool, dryRun }, ...names) => {
  if (pool === undefined) throw new UsageError('which pool? Name it with --pool');
  const [kube, namespace] = [await session.kube(), await session.namespace()];
  const { metadata } = await kube.get(VirtualMachinePools, { namespace, name: pool });
  const found = disksToPrune(await keptClaims(kube, namespace), { names, pool, orphaned: true }, Date.now());
  if (found.length === 0) return printNote(`No earlier pool ${pool} has left kept disks in ${namespace} namespace.`);
  const done = `is kept for pool ${pool}`;
  await eachOf(found, { done, dryRun }, (one, isDry) => adopt(kube, one, metadata.uid, isDry));
};

/**
 * Assigns a disk left by a deleted pool of the same name to the pool with this UID. Returns null if that is done, else
 * why not.
 */
async function adopt(
  kube: KubeClient,
  { claim, kept, orphaned }: ListedClaim,
  poolUid: string,
  dryRun: boolean,
): Promise<string | null> {
  if (kept.poolUid === poolUid) return 'it is kept for the pool already';
  if (!orphaned) return 'the pool that it is kept for is there';
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  try {
    await kube.patch(
      PersistentVolumeClaims,
      { namespace, name },
      'merge',
      { metadata: { uid, resourceVersion, ...keptDiskMetadata({ ...kept, poolUid }) } },
      { dryRun },
    );
    return null;
  } catch (error) {
    if (isConflict(error)) return 'it was changed concurrently';
    throw error;
  }
}
