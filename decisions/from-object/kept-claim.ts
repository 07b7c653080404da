import type { Stored } from '../../api/objects.ts';
import { type KeptClaim, keptDiskOf } from '../template/kept-disk.ts';
import { vmName } from '../template/vm-names.ts';
import { isStateClaimOf } from '../template/vm-state.ts';

/** The view of a kept disk, and the UID of its pool; null for a claim without drover's mark. */
export function keptClaimView(claim: Stored): (KeptClaim & { poolUid: string }) | null {
  const { metadata } = claim;
  const kept = keptDiskOf(metadata);
  if (kept === null) return null;
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    namespace: namespace!,
    name,
    uid,
    resourceVersion,
    deleting: metadata.deletionTimestamp !== undefined,
    isOfState: isStateClaimOf(claim, vmName(kept.pool, kept.number)),
    kept,
    poolUid: kept.poolUid,
  };
}
