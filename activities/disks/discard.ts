import { cancellationSignal } from '@temporalio/activity';
import { controllerOf } from '../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims } from '../../api/resources.ts';
import { keptDiskOf, noKeptDiskMark } from '../../decisions/disks/kept-disk.ts';
import { vmName } from '../../decisions/scaling/vm-names.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import { liveVm } from '../lib/live-vm.ts';
import type { PoolKey } from '../owners/types.ts';

export interface ClaimTarget {
  name: string;
  uid: string;
}

/**
 * Deletes a disk that was kept for a VM of the pool, with the DataVolume that holds it, if it is still kept: checked
 * again right before, it has the pool's mark and no owner, and its VM does not exist. Resolves to false if the disk is
 * left.
 */
export async function discardDisk(client: KubeClient, key: PoolKey, { name, uid }: ClaimTarget): Promise<boolean> {
  const signal = cancellationSignal();
  const at = { namespace: key.namespace, name };
  const [claim, volume] = await Promise.all([
    ignoreNotFound(client.get(PersistentVolumeClaims, at, { signal })),
    ignoreNotFound(client.get(DataVolumes, at, { signal })),
  ]);
  const kept = claim && keptDiskOf(claim.metadata);
  if (claim === undefined || claim.metadata.uid !== uid || kept?.poolUid !== key.uid) return false;
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

/** Removes the mark from a claim that a VM has taken, unless the claim has changed since that was seen. */
export async function unmarkDisk(
  client: KubeClient,
  namespace: string,
  { name, uid, resourceVersion }: ClaimTarget & { resourceVersion: string },
): Promise<void> {
  const at = { namespace, name };
  const signal = cancellationSignal();
  // Without the mark and without an owner, nothing would tell whose disk it is.
  const volume = await ignoreNotFound(client.get(DataVolumes, at, { signal }));
  if (volume !== undefined && controllerOf(volume)?.kind !== 'VirtualMachine') return;
  const patch = { metadata: { uid, resourceVersion, ...noKeptDiskMark } };
  await ignoreStale(client.patch(PersistentVolumeClaims, at, 'merge', patch, { signal }));
}
