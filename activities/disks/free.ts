import { cancellationSignal } from '@temporalio/activity';
import { DataVolumes, PersistentVolumeClaims } from '../../api/resources.ts';
import { poolsOfSameDisks, whyDiskIsHeld } from '../../decisions/disks/disk-holder.ts';
import { diskTemplates } from '../../decisions/disks/disk-template.ts';
import { vmName } from '../../decisions/scaling/vm-names.ts';
import type { NewVirtualMachine } from '../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError, ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';

/**
 * Throws if the VM with this number would run on a disk that is not its own: KubeVirt uses any disk of the right name.
 * If two pools have disk templates of the same name, the older pool goes first, since neither pool's disks may exist
 * yet when the other looks.
 */
export async function ensureDisksAreFree(
  client: KubeClient,
  cache: ClusterCache,
  pool: StoredPool,
  vm: NewVirtualMachine,
  number: number,
): Promise<void> {
  const { namespace, name } = vm.metadata;
  const rivals = poolsOfSameDisks(pool, cache.pools.values());
  const rival = rivals.find((other) => {
    const its = cache.vms.get(`${namespace}/${vmName(other.metadata.name, number)}`);
    return isOlder(other, pool) || (its !== undefined && isOwnedBy(its, 'VirtualMachinePool', other.metadata));
  });
  if (rival !== undefined) {
    throw held(
      name,
      `pool ${rival.metadata.name} has disk templates of the same name, and its VMs would run on the same disks: give those of one pool another name`,
    );
  }
  const signal = cancellationSignal();
  for (const disk of diskTemplates(vm.spec).keys()) {
    const at = { namespace, name: disk };
    const [dataVolume, claim] = await Promise.all([
      ignoreNotFound(client.get(DataVolumes, at, { signal })),
      ignoreNotFound(client.get(PersistentVolumeClaims, at, { signal })),
    ]);
    const why = whyDiskIsHeld({ name: disk, vm: name, number, poolUid: pool.metadata.uid, dataVolume, claim });
    if (why !== null) throw held(name, why);
  }
}

const isOlder = (one: StoredPool, other: StoredPool): boolean => {
  const [times, others] = [createdAt(one), createdAt(other)];
  return times === others ? one.metadata.uid < other.metadata.uid : times < others;
};

const createdAt = ({ metadata }: StoredPool): string =>
  (metadata as { creationTimestamp?: string }).creationTimestamp ?? '';

const held = (vm: string, why: string): KubeError => new KubeError(422, 'DiskHeld', `${vm} is not created: ${why}`);
