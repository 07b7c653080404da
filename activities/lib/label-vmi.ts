import { VirtualMachineInstances } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';

/**
 * Writes labels and annotations of a VMI, unless it is another VMI now; null removes one. Returns the version that a
 * later plan must have seen; undefined if nothing was written. KubeVirt writes to a VMI often, and none of that
 * concerns its labels: its UID is guard enough. What is not kept stops nothing: the VM tells whose it is, and a rollout
 * waits until the VMI has its revision.
 */
export async function labelVmi(
  client: KubeClient,
  { namespace, name, uid }: { namespace?: string | undefined; name: string; uid: string },
  metadata: object,
): Promise<string | undefined> {
  const patch = { metadata: { uid, ...metadata } };
  const at = { namespace, name };
  return (await ignoreStale(client.patch(VirtualMachineInstances, at, 'merge', patch)))?.metadata.resourceVersion;
}
