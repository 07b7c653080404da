import { KEPT_DISK } from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { identityKey, identityOf } from '../../api/owner-references.ts';
import { PersistentVolumeClaims, VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { keptDiskOf, type KeptDisk } from '../../decisions/template/kept-disk.ts';
import { vmName } from '../../decisions/template/vm-names.ts';
import type { KubeClient } from '../../kubernetes/client.ts';

export type Claim = KubeObject & {
  spec?: { resources?: { requests?: { storage?: string } } };
  status?: { capacity?: { storage?: string } };
};

/** A PVC that a deleted VM left to the next VM with its number. */
export interface ListedClaim {
  claim: Stored<Claim>;
  kept: KeptDisk;
  /** Its pool no longer exists, or another pool has its name now. */
  orphaned: boolean;
}

const isThere = async (kube: KubeClient, namespace: string | undefined) => {
  const { items } = await kube.list(VirtualMachines, { namespace });
  const names = new Set(items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  return ({ metadata }: Stored, { pool, number }: KeptDisk): boolean =>
    names.has(`${metadata.namespace}/${vmName(pool, number)}`);
};

/** Returns a predicate: true for a claim that is kept, and that neither goes nor is used by its VM again. */
export async function isKept(kube: KubeClient, namespace: string | undefined): Promise<(claim: Stored) => boolean> {
  const isUsed = await isThere(kube, namespace);
  return (claim) => {
    const kept = keptDiskOf(claim.metadata);
    return kept !== null && claim.metadata.deletionTimestamp === undefined && !isUsed(claim, kept);
  };
}

/** The kept disks of a namespace, or of all, ordered by pool and number. */
export async function keptClaims(kube: KubeClient, namespace: string | undefined): Promise<ListedClaim[]> {
  const [{ items }, { items: pools }, picked] = await Promise.all([
    kube.list<Claim>(PersistentVolumeClaims, { namespace, labelSelector: KEPT_DISK }),
    kube.list(VirtualMachinePools, { namespace }),
    isKept(kube, namespace),
  ]);
  const living = new Set(pools.map((pool) => identityKey(identityOf(pool))));
  return items
    .filter(picked)
    .map((claim) => ({ claim, kept: keptDiskOf(claim.metadata)! }))
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
