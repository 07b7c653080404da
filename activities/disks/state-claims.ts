import type { Stored } from '../../api/objects.ts';
import { PersistentVolumeClaims } from '../../api/resources.ts';
import { legacyStateClaim, STATE_CLAIM_LABEL } from '../../decisions/template/vm-state.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';

/** Returns the claims on which KubeVirt looks for the state of a VM of this name; it passes over terminating ones. */
export async function stateClaimsOf(client: KubeClient, namespace: string, vm: string): Promise<Stored[]> {
  const [{ items }, legacy] = await Promise.all([
    client.list(PersistentVolumeClaims, { namespace, labelSelector: `${STATE_CLAIM_LABEL}=${vm}` }),
    ignoreNotFound(client.get(PersistentVolumeClaims, { namespace, name: legacyStateClaim(vm) })),
  ]);
  const others = items.filter(({ metadata }) => metadata.name !== legacy?.metadata.name);
  return [...others, ...(legacy === undefined ? [] : [legacy])].filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
}
