import type { KubeObject, OwnerReference, Stored } from '../../api/objects.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { VirtualMachine } from '../objects/kubevirt.ts';
import { isDeleting } from '../objects/vmi.ts';
import type { Cluster } from './cluster.ts';
import type { Store } from './store.ts';

/**
 * Reports whether a VM may adopt objects without a controller. Asks the API server, as KubeVirt does: the VM in the
 * cache may be older than its disks there. A terminating VM would adopt a disk again that it had released, and the disk
 * would be deleted with it.
 */
export async function mayAdopt(
  { client, vms }: Cluster,
  { metadata: { namespace, name, uid } }: Stored<VirtualMachine>,
): Promise<boolean> {
  const now = await ignoreNotFound(client.get<VirtualMachine>(vms.resource, { namespace, name }));
  return now !== undefined && now.metadata.uid === uid && !isDeleting(now);
}

/** Gives an object a further owner, in the version that was read. */
export async function adopt<T extends KubeObject>(
  { client }: Cluster,
  store: Store<T>,
  { metadata }: Stored<T>,
  owner: OwnerReference,
): Promise<Stored<T>> {
  const { namespace, name, resourceVersion, ownerReferences = [] } = metadata;
  const patch = { metadata: { resourceVersion, ownerReferences: [...ownerReferences, owner] } };
  return store.remember(await client.patch<T>(store.resource, { namespace, name }, 'merge', patch));
}
