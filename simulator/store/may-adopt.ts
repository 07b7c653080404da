import type { Stored } from '../../api/objects.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { VirtualMachine } from '../types.ts';
import { isDeleting } from '../vmi/vmi.ts';
import type { Cluster } from './cluster.ts';

/**
 * Whether a VM may take what is nobody's: asked of the API server, as KubeVirt does. What the watches show of the VM
 * may be older than what they show of its disks: a VM that is going would take back a disk that was let go, and have it
 * deleted with itself.
 */
export async function mayAdopt(
  { client, machines }: Cluster,
  { metadata: { namespace, name, uid } }: Stored<VirtualMachine>,
): Promise<boolean> {
  const now = await ignoreNotFound(client.get<VirtualMachine>(machines.resource, { namespace, name }));
  return now !== undefined && now.metadata.uid === uid && !isDeleting(now);
}
