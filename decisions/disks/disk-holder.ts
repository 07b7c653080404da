import type { StoredPool } from '../views/pool.ts';
import { diskTemplates } from './disk-template.ts';
import { isKeptFor, keptDiskOf } from './kept-disk.ts';

/** What a DataVolume or a claim says of whose it is. */
export interface DiskObject {
  metadata: {
    labels?: Readonly<Record<string, string>>;
    annotations?: Readonly<Record<string, string>>;
    ownerReferences?: readonly { kind: string; name: string }[];
  };
}

export interface HolderInput {
  /** Of the disk: of its DataVolume and of its claim. */
  name: string;
  /** The VM that is to have it, and for which number of which pool that stands. */
  vm: string;
  number: number;
  poolUid: string;
  /** As they are in this moment; undefined where there are none. */
  dataVolume: DiskObject | undefined;
  claim: DiskObject | undefined;
}

/**
 * Why a VM may not have the disk of this name, for KubeVirt would use it whosever it is; null where the disk is to be
 * made, was the VM's before, or was kept for it.
 */
export function whyDiskIsHeld({ name, vm, number, poolUid, dataVolume, claim }: HolderInput): string | null {
  if (dataVolume === undefined && claim === undefined) return null;
  const isPart = ({ kind, name: owner }: { kind: string; name: string }): boolean =>
    kind === 'DataVolume' && owner === name;
  const owners = [...(dataVolume?.metadata.ownerReferences ?? []), ...(claim?.metadata.ownerReferences ?? [])];
  const other = owners.find((owner) => !isPart(owner) && !(owner.kind === 'VirtualMachine' && owner.name === vm));
  const what = claim === undefined ? `DataVolume ${name}` : `PersistentVolumeClaim ${name}`;
  if (other !== undefined) return `${what} belongs to ${other.kind} ${other.name}`;
  // What is left of a VM of this name, or of a DataVolume that is no more, goes with it.
  if (owners.some((owner) => !isPart(owner)) || (dataVolume === undefined && owners.length > 0)) return null;
  if (claim !== undefined && isKeptFor(claim.metadata, poolUid, number)) return null;
  const kept = claim === undefined ? null : keptDiskOf(claim.metadata);
  if (kept === null) return `${what} is there already, and was not kept for this VM`;
  return `${what} was kept for number ${kept.number} of ${kept.poolUid === poolUid ? 'this pool' : `an earlier pool ${kept.pool}`}`;
}

/**
 * The pools of its namespace that have a disk template of one of the same names: their VMs of one number would share a
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
