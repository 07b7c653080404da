import { UID_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale, isRefusal } from '../../kubernetes/errors.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { nothingDone, type Done } from './done.ts';
import { isMemberOf, seenMember } from './if-owned.ts';
import { kindOfOwner, versionsOf } from './kinds.ts';
import { liveOwner } from './live-owner.ts';
import type { OwnerKey } from './owner-key.ts';

/**
 * Adds drover's finalizer to the owner, and notes its UID unless one is noted, or removes the finalizer. Says why, if
 * the API server refuses that. Without the finalizer, Kubernetes deletes what the owner has: it is removed only from a
 * deleted owner that has no member left.
 */
export async function setFinalizer(client: KubeClient, key: OwnerKey, held: boolean): Promise<Done> {
  try {
    const minVersions = await write(client, key, held);
    // A plan whose cache still has it need not learn that it is gone.
    return minVersions === null ? nothingDone : { ...nothingDone, count: 1, minVersions };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const { finalizer } = kindOfOwner(key);
    const what = held ? 'added, and no VM is made before' : 'removed, and nothing else is left';
    const message = `the finalizer ${finalizer} can't be ${what}: ${error.message}`;
    return { ...nothingDone, refused: { reason: error.reason, message } };
  }
}

/** Reports whether the API server has a member of the owner: a cache may not show one yet. */
async function hasMembers(client: KubeClient, key: OwnerKey): Promise<boolean> {
  const options = { namespace: key.namespace, metadataOnly: true };
  const { items } = await client.list(kindOfOwner(key).members.resource, options);
  return items.some((member) => isMemberOf(key, seenMember(key, member)));
}

/** Tries until no other client has changed the owner in between. Resolves to null if the owner is gone. */
async function write(client: KubeClient, key: OwnerKey, held: boolean): Promise<ResourceVersions | null> {
  const { finalizer: ours, resource } = kindOfOwner(key);
  for (;;) {
    const owner = await liveOwner(client, key);
    if (owner === undefined) return null;
    const { resourceVersion, finalizers: current = [], deletionTimestamp } = owner.metadata;
    const isDeleted = deletionTimestamp !== undefined;
    if (current.includes(ours) === held || isDeleted === held) return versionsOf(key, resourceVersion);
    if (!held && (await hasMembers(client, key))) return versionsOf(key, resourceVersion);
    const finalizers = held ? [...current, ours] : current.filter((finalizer) => finalizer !== ours);
    // One that a backup has brought along stays: by it, the owner is known to have been restored.
    const annotations =
      held && owner.metadata.annotations?.[UID_ANNOTATION] === undefined ? { [UID_ANNOTATION]: key.uid } : {};
    const patch = { metadata: { resourceVersion, finalizers, annotations } };
    const patched = await ignoreStale(patchKept(client, resource, key, patch));
    if (patched === undefined) continue;
    return versionsOf(key, patched.metadata.resourceVersion);
  }
}
