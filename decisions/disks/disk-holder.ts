import type { StoredPool } from '../views/pool.ts';
import { diskTemplates } from './disk-template.ts';
import { isKeptFor, keptDiskOf } from './kept-disk.ts';

/** The metadata of a DataVolume or a claim that tells whose it is. */
export interface DiskObject {
  metadata: {
    labels?: Readonly<Record<string, string>>;
    annotations?: Readonly<Record<string, string>>;
    ownerReferences?: readonly { kind: string; name: string }[];
  };
}

export interface HolderInput {
  /** Name of the disk, and so of its DataVolume and its claim. */
  name: string;
  /** The VM that is to have the disk, its number, and the UID of its pool. */
  vm: string;
  number: number;
  poolUid: string;
  /** The current objects; undefined if there are none. */
  dataVolume: DiskObject | undefined;
  claim: DiskObject | undefined;
}

/**
 * Returns why a VM may not have the disk of this name, since KubeVirt would use it whosever it is; null if the disk
 * does not exist yet, was the VM's before, or was kept for it.
 */
export function whyDiskIsHeld({ name, vm, number, poolUid, dataVolume, claim }: HolderInput): string | null {
  if (dataVolume === undefined && claim === undefined) return null;
  const isPart = ({ kind, name: owner }: { kind: string; name: string }): boolean =>
    kind === 'DataVolume' && owner === name;
  const owners = [...(dataVolume?.metadata.ownerReferences ?? []), ...(claim?.metadata.ownerReferences ?? [])];
  const other = owners.find((owner) => !isPart(owner) && !(owner.kind === 'VirtualMachine' && owner.name === vm));
  const what = claim === undefined ? `DataVolume ${name}` : `PersistentVolumeClaim ${name}`;
  if (other !== undefined) return `${what} belongs to ${other.kind} ${other.name}`;
  // Leftovers of a VM of this name, or of a deleted DataVolume, are garbage-collected with their owner.
  if (owners.some((owner) => !isPart(owner)) || (dataVolume === undefined && owners.length > 0)) return null;
  if (claim !== undefined && isKeptFor(claim.metadata, poolUid, number)) return null;
  const kept = claim === undefined ? null : keptDiskOf(claim.metadata);
  if (kept === null) return `${what} is there already, and was not kept for this VM`;
  return `${what} was kept for number ${kept.number} of ${kept.poolUid === poolUid ? 'this pool' : `an earlier pool ${kept.pool}`}`;
}

/**
 * Returns the other pools in the namespace with a disk template of the same name: VMs of the same number would share a
 * disk.
 */
export function poolsOfSameDisks(pool: StoredPool, others: Iterable<StoredPool>): StoredPool[] {
  const names = diskTemplates(pool.spec.template.spec);
  const isRival = (other: StoredPool): boolean =>
    other.metadata.namespace === pool.metadata.namespace &&
    other.metadata.uid !== pool.metadata.uid &&
    [...diskTemplates(other.spec.template.spec).keys()].some((name) => names.has(name));
  return names.size === 0 ? [] : [...others].filter(isRival);
}
