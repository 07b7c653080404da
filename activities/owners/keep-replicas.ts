import { REPLICAS_MANAGER } from '../../api/labels-and-annotations.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { patchOwner } from './live-owner.ts';
import type { OwnerKey } from './owner-key.ts';

/**
 * Writes into the spec of a pool or a set how many members it wants, if the spec still leaves that out. Returns what a
 * later plan must have seen.
 */
export async function keepReplicas(client: KubeClient, key: OwnerKey): Promise<ResourceVersions> {
  const { minVersions } = await patchOwner(
    client,
    key,
    ({ replicasOmitted, spec: { replicas } }) => (replicasOmitted === true ? { spec: { replicas } } : null),
    { fieldManager: REPLICAS_MANAGER },
  );
  return minVersions;
}
