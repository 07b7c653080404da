import { cancellationSignal } from '@temporalio/activity';
import { controllerOf } from '../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims } from '../../api/resources.ts';
import { isDiscarded } from '../../decisions/disks/kept-claims.ts';
import { keptDiskOf, noKeptDiskMark } from '../../decisions/disks/kept-disk.ts';
import { vmName } from '../../decisions/scaling/vm-names.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import { liveVm } from '../lib/live-vm.ts';
import { isMemberOf, seenMember } from '../owners/if-owned.ts';
import type { PoolKey } from '../owners/types.ts';

export interface ClaimTarget {
  name: string;
  uid: string;
}

/**
 * Deletes a disk that was kept for a VM of the pool, with the DataVolume that holds it, if it is still kept and the
 * pool keeps none any more: checked again right before, it has the pool's mark and no owner, and its VM does not exist.
 * Resolves to false if the disk is left. `pool`: as the API server has it.
 */
export async function discardDisk(
  client: KubeClient,
  key: PoolKey,
  pool: StoredPool | undefined,
  { name, uid }: ClaimTarget,
): Promise<boolean> {
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return false;
  const signal = cancellationSignal();
  const at = { namespace: key.namespace, name };
  const [claim, volume] = await Promise.all([
    ignoreNotFound(client.get(PersistentVolumeClaims, at, { signal })),
    ignoreNotFound(client.get(DataVolumes, at, { signal })),
  ]);
  const kept = claim && keptDiskOf(claim.metadata);
  if (claim === undefined || claim.metadata.uid !== uid || kept?.poolUid !== key.uid) return false;
  if (!isDiscarded(pool, kept)) return false;
  const owners = [...(volume?.metadata.ownerReferences ?? []), ...(claim.metadata.ownerReferences ?? [])].filter(
    (owner) => owner.uid !== volume?.metadata.uid,
  );
  if (owners.length > 0) return false;
  const vm = { namespace: key.namespace, name: vmName(key.name, kept.number) };
  if ((await liveVm(client, vm, signal)) !== undefined) return false;
  try {
    if (volume !== undefined) {
      const { uid: ofVolume, resourceVersion } = volume.metadata;
      await ignoreNotFound(client.delete(DataVolumes, at, { uid: ofVolume, resourceVersion, signal }));
    }
    await ignoreNotFound(client.delete(PersistentVolumeClaims, at, { uid, signal }));
    return true;
  } catch (error) {
    // Something has taken the disk just now.
    if (isConflict(error)) return false;
    throw error;
  }
}

/**
 * Removes the mark from a claim that the pool's VM of its number has taken, unless the claim has changed since that was
 * seen.
 */
export async function unmarkDisk(
  client: KubeClient,
  key: PoolKey,
  { name, uid, resourceVersion }: ClaimTarget & { resourceVersion: string },
): Promise<void> {
  const { namespace } = key;
  const at = { namespace, name };
  const signal = cancellationSignal();
  const claim = await ignoreNotFound(client.get(PersistentVolumeClaims, at, { signal }));
  const kept = claim && keptDiskOf(claim.metadata);
  if (claim?.metadata.uid !== uid || claim.metadata.resourceVersion !== resourceVersion) return;
  if (kept?.poolUid !== key.uid) return;
  const vm = await liveVm(client, { namespace, name: vmName(key.name, kept.number) }, signal);
  if (vm === undefined || !isMemberOf(key, seenMember(key, vm))) return;
  // Without the mark and without an owner, nothing would tell whose disk it is.
  const volume = await ignoreNotFound(client.get(DataVolumes, at, { signal }));
  if (volume !== undefined && controllerOf(volume)?.kind !== 'VirtualMachine') return;
  const patch = { metadata: { uid, resourceVersion, ...noKeptDiskMark } };
  await ignoreStale(client.patch(PersistentVolumeClaims, at, 'merge', patch, { signal }));
}
