import { UID_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isRefusal } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { nothingDone, type Done } from './done.ts';
import { kindOfOwner, versionsOf } from './kinds.ts';
import { liveOwner } from './live-owner.ts';
import type { OwnerKey } from './owner-key.ts';

/** Notes on the owner its UID, replacing the UID that a backup has brought along. */
export async function noteUid(client: KubeClient, key: OwnerKey): Promise<Done> {
  const { resource } = kindOfOwner(key);
  try {
    return await retryOnConflict(async () => {
      const owner = await liveOwner(client, key);
      if (owner === undefined) return nothingDone;
      const { resourceVersion, annotations } = owner.metadata;
      const noted = annotations?.[UID_ANNOTATION];
      if (noted === undefined || noted === key.uid)
        return { ...nothingDone, minVersions: versionsOf(key, resourceVersion) };
      const patch = { metadata: { resourceVersion, annotations: { [UID_ANNOTATION]: key.uid } } };
      const patched = await patchKept(client, resource, key, patch);
      return { ...nothingDone, count: 1, minVersions: versionsOf(key, patched.metadata.resourceVersion) };
    });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const message = `its UID can't be noted, and no VM is made before: ${error.message}`;
    return { ...nothingDone, refused: { reason: error.reason, message } };
  }
}
