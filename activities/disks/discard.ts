import { controllerOf, type OwnerReference, type Stored } from '../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims } from '../../api/resources.ts';
import { isDiscarded } from '../../decisions/disks/kept-claims.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import { keptDiskOf, noKeptDiskMetadata } from '../../decisions/template/kept-disk.ts';
import { disksOf } from '../../decisions/template/used-disks.ts';
import { vmName } from '../../decisions/template/vm-names.ts';
import { isStateClaimOf } from '../../decisions/template/vm-state.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, isConflict, ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import { whileFresh, type LastCheck } from '../../kubernetes/retry.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { isMemberOf, seenMember } from '../owners/if-owned.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import type { Acted } from '../owners/try-each.ts';
import type { DiskKeeper } from './shared-disks.ts';

/** As KubeVirt writes it, but without `blockOwnerDeletion`, which some clusters let only those set who own the VM. */
const vmOwner = ({ name, uid }: Stored['metadata']): OwnerReference => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  name,
  uid,
  controller: true,
});

/**
 * Deletes a disk that was kept for a VM of the pool, with the DataVolume that holds it, if it is still kept and the
 * pool no longer keeps disks: checked again right before, it has the pool's mark and no owner, and its VM does not
 * exist. Throws an `ActRefused` with the reason `DiskHeld` that says whose it is now, if something else has taken it.
 * `poolNow`: as the API server has it.
 */
export const discardDisk = (
  access: DiskKeeper,
  key: PoolKey,
  poolNow: () => Promise<StoredPool | undefined>,
  disk: Member,
): Promise<Acted> => whileFresh(async (lastCheck) => discard(access, key, { pool: await poolNow(), disk, lastCheck }));

interface Discarded {
  pool: StoredPool | undefined;
  disk: Member;
  lastCheck: LastCheck;
}

async function discard(
  { client, cache }: DiskKeeper,
  key: PoolKey,
  { pool, disk: { name, uid }, lastCheck }: Discarded,
): Promise<Acted> {
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return 'skipped';
  const at = { namespace: key.namespace, name };
  const [claim, volume] = await Promise.all([
    ignoreNotFound(client.get(PersistentVolumeClaims, at)),
    ignoreNotFound(client.get(DataVolumes, at)),
  ]);
  const kept = claim && keptDiskOf(claim.metadata);
  if (claim === undefined || claim.metadata.uid !== uid || kept?.poolUid !== key.uid) return 'skipped';
  if (!isDiscarded(pool, kept)) return 'skipped';
  const owners = [...(volume?.metadata.ownerReferences ?? []), ...(claim.metadata.ownerReferences ?? [])].filter(
    (owner) => owner.uid !== volume?.metadata.uid,
  );
  const vm = { namespace: key.namespace, name: vmName(key.name, kept.number) };
  const stays = (message: string): ActRefused =>
    new ActRefused('DiskHeld', `${vm.name} is not created: its kept disk ${name} can't be deleted: ${message}`);
  const [owner] = owners;
  if (owner !== undefined) throw stays(`it belongs to ${owner.kind} ${owner.name}`);
  const [user] = cache.diskUsers.of(key.namespace, name);
  if (user !== undefined) throw stays(`it is used by ${user.kind} ${user.name}`);
  if ((await liveVm(client, vm)) !== undefined) return 'skipped';
  try {
    if (volume !== undefined) {
      const { uid: ofVolume, resourceVersion } = volume.metadata;
      await ignoreNotFound(client.delete(DataVolumes, at, { uid: ofVolume, resourceVersion, lastCheck }));
    }
    // Its claim goes with a DataVolume in any case.
    const options = { uid, ...(volume === undefined && { lastCheck }) };
    await ignoreNotFound(client.delete(PersistentVolumeClaims, at, options));
    return 'done';
  } catch (error) {
    // Something has taken the disk just now.
    if (isConflict(error)) throw stays('it was changed just now');
    throw error;
  }
}

/**
 * Removes the mark from a claim that the pool's VM of its number uses again, unless the claim has changed since that
 * was seen.
 */
export async function unlabelDisk(
  client: KubeClient,
  key: PoolKey,
  { name, uid, resourceVersion }: Member & { resourceVersion: string },
): Promise<Acted> {
  const { namespace } = key;
  const at = { namespace, name };
  const claim = await ignoreNotFound(client.get(PersistentVolumeClaims, at));
  const kept = claim && keptDiskOf(claim.metadata);
  if (claim?.metadata.uid !== uid || claim.metadata.resourceVersion !== resourceVersion) return 'skipped';
  if (kept?.poolUid !== key.uid) return 'skipped';
  const vm = await liveVm(client, { namespace, name: vmName(key.name, kept.number) });
  if (vm === undefined || !isMemberOf(key, seenMember(key, vm))) return 'skipped';
  // Without the mark and without an owner or a user, nothing would tell whose disk it is.
  const isOfState = isStateClaimOf(claim, vm.metadata.name);
  if (!isOfState && !disksOf(vm.spec).has(name)) return 'skipped';
  const volume = await ignoreNotFound(client.get(DataVolumes, at));
  if (volume !== undefined && controllerOf(volume)?.kind !== 'VirtualMachine') return 'skipped';
  // KubeVirt finds the claim of a VM's state by its label, and leaves it without an owner.
  const owner = isOfState ? { ownerReferences: [vmOwner(vm.metadata)] } : {};
  const patch = { metadata: { uid, resourceVersion, ...noKeptDiskMetadata, ...owner } };
  const patched = await ignoreStale(patchKept(client, PersistentVolumeClaims, at, patch));
  return patched === undefined ? 'skipped' : 'done';
}
