import { UID_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { doneOrRefused, type Done } from './done.ts';
import { isMemberOf, seenMember } from './if-owned.ts';
import { kindOfOwner } from './kinds.ts';
import { patchOwner } from './live-owner.ts';
import type { OwnerKey } from './owner-key.ts';

/**
 * Adds drover's finalizer to the owner, and notes its UID unless one is noted, or removes the finalizer. Says why, if
 * the API server refuses that. Without the finalizer, Kubernetes deletes what the owner has: it is removed only from a
 * deleted owner that has no member left.
 */
export function setFinalizer(client: KubeClient, key: OwnerKey, isSet: boolean): Promise<Done> {
  const { finalizer: own } = kindOfOwner(key);
  const what = isSet ? 'added, and no VM is made before' : 'removed, and nothing else is left';
  return doneOrRefused(
    `the finalizer ${own} can't be ${what}`,
    patchOwner(
      client,
      key,
      async ({ metadata: { finalizers: current = [], annotations, deletionTimestamp } }) => {
        const isDeleted = deletionTimestamp !== undefined;
        if (current.includes(own) === isSet || isDeleted === isSet) return null;
        if (!isSet) {
          if (await hasMembers(client, key)) return null;
          return { metadata: { finalizers: current.filter((finalizer) => finalizer !== own) } };
        }
        // One that a backup has brought along stays: by it, the owner is known to have been restored.
        const uid = annotations?.[UID_ANNOTATION] ?? key.uid;
        return { metadata: { finalizers: [...current, own], annotations: { [UID_ANNOTATION]: uid } } };
      },
      { tries: Infinity },
    ),
  );
}

/** Reports whether the API server has a member of the owner: a cache may not show one yet. */
async function hasMembers(client: KubeClient, key: OwnerKey): Promise<boolean> {
  const options = { namespace: key.namespace, metadataOnly: true };
  const { items } = await client.list(kindOfOwner(key).members.resource, options);
  return items.some((member) => isMemberOf(key, seenMember(key, member)));
}
