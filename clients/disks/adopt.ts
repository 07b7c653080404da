import { PersistentVolumeClaims } from '../../api/resources.ts';
import { keptDiskMark } from '../../decisions/disks/kept-disk.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import type { ListedClaim } from './kept.ts';

/**
 * Assigns a disk left by a deleted pool of the same name to the pool with this UID. Returns null if that is done, else
 * why not.
 */
export async function adopt(
  kube: KubeClient,
  { claim, kept, orphaned }: ListedClaim,
  poolUid: string,
  dryRun: boolean,
): Promise<string | null> {
  if (kept.poolUid === poolUid) return 'it is kept for the pool already';
  if (!orphaned) return 'the pool that it is kept for is there';
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  try {
    await kube.patch(
      PersistentVolumeClaims,
      { namespace, name },
      'merge',
      { metadata: { uid, resourceVersion, ...keptDiskMark({ ...kept, poolUid }) } },
      { dryRun },
    );
    return null;
  } catch (error) {
    if (isConflict(error)) return 'it was changed concurrently';
    throw error;
  }
}
