import type { Stored } from '../../api/objects.ts';
import { Pods } from '../../api/resources.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import type { Pod, VirtualMachineInstance } from '../objects/kubevirt.ts';
import type { Cluster } from '../store/cluster.ts';
import { evict } from '../vmi/evict.ts';
import { evictionOf } from '../vmi/eviction.ts';
import { LAUNCHER } from '../vmi/launcher.ts';
import { Denied, type Review } from './admission.ts';

/**
 * Answers the eviction of a pod as KubeVirt does. Throws `Denied` for the pod of a VMI that is marked, or must not
 * leave; any other eviction is for the API server.
 */
export async function reviewEviction(cluster: Cluster, { request }: Review): Promise<[]> {
  const { namespace, name = '', dryRun } = request;
  const pod = await ignoreNotFound(cluster.client.get<Pod>(Pods, { namespace, name }));
  const vmi = cluster.vmis.get(`${namespace}/${pod?.metadata.annotations?.[LAUNCHER.vmi]}`);
  if (vmi === undefined) return [];
  const message = `Eviction triggered evacuation of VMI "${namespace}/${vmi.metadata.name}"`;
  if (vmi.status?.evacuationNodeName !== undefined) throw new Denied(`Evacuation in progress: ${message}`, 429);
  const eviction = evictionOf(vmi, cluster.kubevirt);
  if (eviction === 'refuse')
    throw new Denied(
      `VMI ${vmi.metadata.name} is configured with an eviction strategy but is not live-migratable`,
      429,
    );
  if (eviction !== 'requestEvacuation' && eviction !== 'migrate') return [];
  // An admission that fails would let the pod go.
  if (dryRun !== true)
    await retryOnConflict(async () => evict(cluster, await fresh(cluster, vmi), eviction)).catch((error: Error) => {
      throw new Denied(`kubevirt failed marking the vmi for eviction: ${error.message}`, 429);
    });
  throw new Denied(message, 429);
}

/** As the API server has it, which others may have written meanwhile. */
const fresh = ({ client, vmis }: Cluster, { metadata }: Stored<VirtualMachineInstance>) =>
  client.get<VirtualMachineInstance>(vmis.resource, metadata);
