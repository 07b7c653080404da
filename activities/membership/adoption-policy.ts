import { HEALING_REQUEST_ANNOTATION, HEALING_REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound, isRefusal } from '../../kubernetes/errors.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import type { PoolKey } from '../owners/owner-key.ts';

/**
 * Whether the API server asks users for rights before they have VMs adopted: the policy that does so also refuses this
 * dry run of a request in nobody's name. Without it, whoever may change a pool could have it adopt VMs, and delete
 * them.
 */
export async function isAdoptionGuarded(client: KubeClient, { namespace, name }: PoolKey): Promise<boolean> {
  const annotations = { [HEALING_REQUEST_ANNOTATION]: 'policy?', [HEALING_REQUESTED_BY_ANNOTATION]: '' };
  try {
    await patchKept(client, VirtualMachinePools, { namespace, name }, { metadata: { annotations } }, { dryRun: true });
    return false;
  } catch (error) {
    if (isNotFound(error)) return false;
    if (!isRefusal(error) || !error.message.includes(HEALING_REQUESTED_BY_ANNOTATION)) throw error;
    return true;
  }
}
