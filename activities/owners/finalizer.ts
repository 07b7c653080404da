import { cancellationSignal } from '@temporalio/activity';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import { kindOfOwner, versionsOf } from './kinds.ts';
import { liveOwner } from './live-owner.ts';
import type { OwnerKey } from './types.ts';

/** Adds drover's finalizer to the owner, or removes it. Tries until it can: nothing else would let the owner go. */
export async function setFinalizer(client: KubeClient, key: OwnerKey, held: boolean): Promise<ResourceVersions> {
  const { finalizer: ours, resource } = kindOfOwner(key);
  for (;;) {
    const owner = await liveOwner(client, key);
    if (owner === undefined) return {};
    const { resourceVersion, finalizers: current = [], deletionTimestamp } = owner.metadata;
    if (current.includes(ours) === held || (held && deletionTimestamp !== undefined))
      return versionsOf(key, resourceVersion);
    const finalizers = held ? [...current, ours] : current.filter((finalizer) => finalizer !== ours);
    const patch = { metadata: { resourceVersion, finalizers } };
    const patched = await ignoreStale(client.patch(resource, key, 'merge', patch, { signal: cancellationSignal() }));
    if (patched !== undefined) return versionsOf(key, patched.metadata.resourceVersion);
  }
}
