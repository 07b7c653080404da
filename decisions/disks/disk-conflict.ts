import { diskTemplates } from '../template/disk-template.ts';
import { keptDiskOf } from '../template/kept-disk.ts';
import type { StoredPool } from '../views/pool.ts';

interface Owner {
  kind: string;
  name: string;
  uid: string;
}

/** The metadata of a DataVolume or a claim that tells whose it is. */
interface DiskObject {
  metadata: {
    labels?: Readonly<Record<string, string>>;
    annotations?: Readonly<Record<string, string>>;
    ownerReferences?: readonly Owner[];
    deletionTimestamp?: string;
  };
}

export interface HolderInput {
  /** Name of the disk, and so of its DataVolume and its claim. */
  name: string;
  /** The VM that is to have the disk; its UID is null if it is still to be created. */
  vm: { name: string; uid: string | null };
  /** The pool that the VM is of, and the VM's number in it; null for a VM of no pool. */
  pool: { uid: string; number: number } | null;
  /** The current objects; undefined if there are none. */
  dataVolume: DiskObject | undefined;
  claim: DiskObject | undefined;
  /** VMs and VMIs that use the disk. */
  users: readonly { kind: string; name: string }[];
}

/** Why a VM may not have a disk, in words. `passes`: the disk is going, and its name is free soon. */
export interface DiskConflict {
  message: string;
  passes: boolean;
}

/**
 * Returns why a VM may not have the disk of this name, because KubeVirt would use it regardless of its owner; null if
 * the disk does not exist yet, is the VM's own, or was kept for it, and nothing else uses it.
 */
export function whyDiskIsHeld(input: HolderInput): DiskConflict | null {
  const { name, dataVolume, claim } = input;
  const doesExist = dataVolume !== undefined || claim !== undefined;
  const conflict = takenByOthers(input) ?? (doesExist ? notTheVms(input) : null);
  const what = claim === undefined && dataVolume !== undefined ? 'DataVolume' : 'PersistentVolumeClaim';
  return conflict && { ...conflict, message: `${what} ${name} ${conflict.message}` };
}

/** The owners of the disk, but for the DataVolume of its own name. */
const ownersOf = ({ name, dataVolume, claim }: HolderInput): Owner[] =>
  [...(dataVolume?.metadata.ownerReferences ?? []), ...(claim?.metadata.ownerReferences ?? [])].filter(
    ({ kind, name: owner }) => kind !== 'DataVolume' || owner !== name,
  );

const passing = (message: string): DiskConflict => ({ message, passes: true });
const lasting = (message: string): DiskConflict => ({ message, passes: false });

function takenByOthers(input: HolderInput): DiskConflict | null {
  const { vm, users } = input;
  const other = ownersOf(input).find(({ kind, name: owner }) => kind !== 'VirtualMachine' || owner !== vm.name);
  if (other !== undefined) return lasting(`belongs to ${other.kind} ${other.name}`);
  const user = users.find((one) => one.name !== vm.name);
  return user === undefined ? null : lasting(`is used by ${user.kind} ${user.name}`);
}

/** Why an existing disk that no others have is not the VM's; null if it is. */
function notTheVms(input: HolderInput): DiskConflict | null {
  const { name, vm, dataVolume, claim } = input;
  const owners = ownersOf(input);
  if (owners.some(({ uid }) => uid !== vm.uid))
    return passing(`is still to be deleted with an earlier VirtualMachine ${vm.name}`);
  if ([dataVolume, claim].some((one) => one?.metadata.deletionTimestamp !== undefined))
    return passing('is being deleted');
  if (owners.length > 0) return null;
  if (dataVolume === undefined && (claim?.metadata.ownerReferences ?? []).length > 0)
    return passing(`is still to be deleted with an earlier DataVolume ${name}`);
  const message = whyNotKeptFor(claim, input.pool);
  return message === null ? null : lasting(message);
}

/** Returns why a disk that nothing owns is not the VM's; null if it was kept for it. */
function whyNotKeptFor(claim: DiskObject | undefined, pool: HolderInput['pool']): string | null {
  const kept = claim === undefined ? null : keptDiskOf(claim.metadata);
  if (kept === null) return 'already exists, and was not kept for this VM';
  if (kept.poolUid === pool?.uid && kept.number === pool.number) return null;
  return `was kept for number ${kept.number} of ${kept.poolUid === pool?.uid ? 'this pool' : `an earlier pool ${kept.pool}`}`;
}

/** The pools of the same namespace with a disk template of the name that this disk has without the number. */
export function poolsOfDisk(
  pool: StoredPool,
  disk: string,
  number: number,
  others: Iterable<StoredPool>,
): StoredPool[] {
  const end = `-${number}`;
  if (!disk.endsWith(end)) return [];
  const template = disk.slice(0, -end.length);
  return [...others].filter((other) => isNeighbour(pool, other) && disksIn(other).has(template));
}

const disksIn = ({ spec }: StoredPool): ReadonlyMap<string, unknown> => diskTemplates(spec.template.spec);

const isNeighbour = ({ metadata }: StoredPool, other: StoredPool): boolean =>
  other.metadata.namespace === metadata.namespace && other.metadata.uid !== metadata.uid;
