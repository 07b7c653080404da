import type { Stored } from '../../api/objects.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { VirtualMachine } from '../objects/kubevirt.ts';
import { isDeleting } from '../objects/vmi.ts';
import type { Cluster } from './cluster.ts';

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
