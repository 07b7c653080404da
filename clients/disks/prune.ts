import { DataVolumes, PersistentVolumeClaims, VirtualMachines } from '../../api/resources.ts';
import { keptDiskOf, type KeptDisk } from '../../decisions/disks/kept-disk.ts';
import { vmName } from '../../decisions/template/vm-names.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ListedClaim } from './kept.ts';

/** Which kept disks; each condition narrows the choice. */
export interface KeptDiskChoice {
  names: string[];
  pool?: string;
  orphaned?: boolean;
  /** Milliseconds since they were kept. */
  olderThan?: number;
}

export function disksToPrune(
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
export async function deleteKept(
  kube: KubeClient,
  { claim, kept }: ListedClaim,
  dryRun: boolean,
): Promise<string | null> {
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
