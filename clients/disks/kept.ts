import { KEPT_DISK } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { identityKey, identityOf } from '../../api/owner-references.ts';
import { PersistentVolumeClaims, VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { keptDiskOf, type KeptDisk } from '../../decisions/template/kept-disk.ts';
import { vmName } from '../../decisions/template/vm-names.ts';
import type { KubeClient } from '../../kubernetes/client.ts';

/** A PVC that a deleted VM left to the next VM with its number. */
export interface ListedClaim {
  claim: Stored;
  kept: KeptDisk;
  /** Its pool no longer exists, or another pool has its name now. */
  orphaned: boolean;
}

/** The kept disks of a namespace that neither go nor are used by their VMs again, ordered by pool and number. */
export async function keptClaims(kube: KubeClient, namespace: string): Promise<ListedClaim[]> {
  const [{ items }, { items: pools }, { items: vms }] = await Promise.all([
    kube.list(PersistentVolumeClaims, { namespace, labelSelector: KEPT_DISK }),
    kube.list(VirtualMachinePools, { namespace }),
    kube.list(VirtualMachines, { namespace }),
  ]);
  const names = new Set(vms.map(({ metadata }) => metadata.name));
  const living = new Set(pools.map((pool) => identityKey(identityOf(pool))));
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .flatMap((claim) => {
      const kept = keptDiskOf(claim.metadata);
      return kept === null || names.has(vmName(kept.pool, kept.number)) ? [] : { claim, kept };
    })
    .map(({ claim, kept }) => ({
      claim,
      kept,
      orphaned: !living.has(identityKey({ ...identityOf(claim), uid: kept.poolUid })),
    }))
    .toSorted(
      (a, b) =>
        a.kept.pool.localeCompare(b.kept.pool) ||
        a.kept.number - b.kept.number ||
        a.claim.metadata.name.localeCompare(b.claim.metadata.name),
    );
}
