import { PersistentVolumeClaims, VirtualMachinePools } from '../../api/resources.ts';
import { keptDiskMark } from '../../decisions/disks/kept-disk.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import { UsageError } from '../cli/failure.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { note, print, dryRunRemark } from '../cli/print.ts';
import type { Session } from '../session/session.ts';
import { keptClaims, type ListedClaim } from './kept.ts';
import { disksToPrune } from './prune.ts';

/** Gives a pool the disks that an earlier pool of its name has kept, or those of them that are named. */
export async function adoptDisks(
  session: Session,
  { pool, dryRun }: { pool?: string; dryRun: DryRun },
  ...names: string[]
): Promise<void> {
  if (pool === undefined) throw new UsageError('for which pool? Give --pool');
  const [kube, namespace] = [await session.kube(), await session.namespace()];
  const { metadata } = await kube.get(VirtualMachinePools, { namespace, name: pool });
  const found = disksToPrune(await keptClaims(kube, namespace), { names, pool, orphaned: true }, Date.now());
  if (found.length === 0) return note(`No earlier pool ${pool} has left kept disks in ${namespace} namespace.`);
  for (const one of found) {
    const { name } = one.claim.metadata;
    const why = dryRun === 'client' ? null : await adopt(kube, one, metadata.uid, dryRun === 'server');
    if (why === null) print(`persistentvolumeclaim/${name} is kept for pool ${pool}${dryRunRemark(dryRun)}`);
    else note(`persistentvolumeclaim/${name} left: ${why}`);
  }
}

/**
 * Assigns a disk left by a deleted pool of the same name to the pool with this UID. Returns null if that is done, else
 * why not.
 */
async function adopt(
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
