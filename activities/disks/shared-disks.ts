import type { Stored } from '../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims } from '../../api/resources.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, ActRefused } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';

/** What tells who uses a disk. */
export interface DiskKeeper {
  client: KubeClient;
  cache: Pick<ClusterCache, 'diskUsers'>;
}

/**
 * Throws a `KubeError` with the reason `DiskHeld` if the deletion of this VM would take a disk along that another VM,
 * or its VMI, uses: for example a VM that was made to inspect the disk. A disk that the VM uses and does not own stays
 * anyway.
 */
export async function keepSharedDisks(
  { client, cache }: DiskKeeper,
  { namespace, name, uid, disks }: Pick<VmView, 'namespace' | 'name' | 'uid' | 'disks'>,
): Promise<void> {
  for (const disk of disks) {
    const user = cache.diskUsers.of(namespace, disk).find((one) => one.name !== name);
    if (user === undefined) continue;
    const at = { namespace, name: disk };
    const [dataVolume, claim] = await Promise.all([
      ignoreNotFound(client.get(DataVolumes, at)),
      ignoreNotFound(client.get(PersistentVolumeClaims, at)),
    ]);
    if (isOwnedBy(dataVolume, uid) || isOwnedBy(claim, uid))
      throw new ActRefused(
        'DiskHeld',
        `${name} is not deleted: its disk ${disk} would go with it, and is used by ${user.kind} ${user.name}`,
      );
  }
}

/** Reports whether the object is one of the owner's, if it exists. */
export const isOwnedBy = (object: Stored | undefined, uid: string): boolean =>
  object?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
