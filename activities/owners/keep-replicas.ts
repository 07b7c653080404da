import { REPLICAS_MANAGER } from '../../api/labels-and-annotations.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { kindOfOwner, versionsOf } from './kinds.ts';
import { liveOwner } from './live-owner.ts';
import type { OwnerKey } from './owner-key.ts';

/**
 * Writes into the spec of a pool or a set how many members it wants, if the spec still leaves that out. Returns what a
 * later plan must have seen.
 */
export async function keepReplicas(client: KubeClient, key: OwnerKey): Promise<ResourceVersions> {
  return retryOnConflict(async () => {
    const owner = await liveOwner(client, key);
    if (owner === undefined) return {};
    const { resourceVersion } = owner.metadata;
    if (owner.replicasLeftOut !== true) return versionsOf(key, resourceVersion);
    const patch = { metadata: { resourceVersion }, spec: { replicas: owner.spec.replicas } };
    const options = { fieldManager: REPLICAS_MANAGER };
    const written = await patchKept(client, kindOfOwner(key).resource, key, patch, options);
    return versionsOf(key, written.metadata.resourceVersion);
  });
}
