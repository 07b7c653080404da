import { UID_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { doneOrRefused, type Done } from './done.ts';
import { patchOwner } from './live-owner.ts';
import type { OwnerKey } from './owner-key.ts';

/** Notes on the owner its UID, replacing the UID that a backup has brought along. */
export const recordUid = (client: KubeClient, key: OwnerKey): Promise<Done> =>
  doneOrRefused(
    "its UID can't be noted, and no VM is made before",
    patchOwner(client, key, ({ metadata }) => {
      const recordedUid = metadata.annotations?.[UID_ANNOTATION];
      if (recordedUid === undefined || recordedUid === key.uid) return null;
      return { metadata: { annotations: { [UID_ANNOTATION]: key.uid } } };
    }),
  );
