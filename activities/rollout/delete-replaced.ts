import { ActRefused } from '../../kubernetes/errors.ts';
import type { ClusterAccess } from '../cache/access.ts';
import type { Acted, Claim } from '../disruption-budget/claim.ts';
import { deleteVm } from '../members/delete-member.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import type { Look } from './vm-targets.ts';

/**
 * Deletes a VM that is to be replaced, with its disks. Owners are deleted after what they own, so the VM's deletion
 * implies that of its disks: otherwise the next VM with the number would take up the old ones.
 */
export async function deleteReplaced(
  { client, cache, key }: ClusterAccess & { key: PoolKey },
  { pool, vm: { metadata } }: Pick<Look, 'pool' | 'vm'>,
  { lastCheck }: Claim,
): Promise<Acted<null>> {
  const { name, uid, resourceVersion } = metadata;
  const acted = await deleteVm(
    { client, cache },
    key,
    { name, uid, resourceVersion },
    {
      propagationPolicy: 'Foreground',
      // What was decided was decided on this version.
      isSame: (now) => now.resourceVersion === resourceVersion,
      isWanted: async () => (await livePool(client, key))?.metadata.generation === pool.metadata.generation,
      tries: 1,
      lastCheck,
    },
  );
  if (acted === 'done') return { isDone: true, value: null };
  if (acted !== 'notWanted' && acted.skippedAt === undefined) return { isDone: true, value: null };
  throw new ActRefused('Conflict', 'it, or its pool, has just changed');
}
