import { REMOVE_VMS_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { isObject, parsedObject } from '../lib/json.ts';

/** A VM that is to leave its pool. A later VM of its name is not meant. */
interface NamedVm {
  uid: string;
  /** Whether it is kept, and runs on without the pool, instead of being deleted. */
  keep: boolean;
}

/** VMs that users have asked a pool to remove, and no others in their place. */
export interface NamedRemovals {
  /** By their names. */
  vms: ReadonlyMap<string, NamedVm>;
  /** Why the annotation can't be read; null if it can. */
  fault: string | null;
}

/** How many VMs may be named at once: an object's annotations have 256 KiB together. */
export const MAX_NAMED = 500;
const LONGEST_NAME = 253;
const LONGEST_UID = 128;

/** Reads the VMs that are to be removed from a pool's annotations, where users may have written anything. */
export function namedRemovals(annotations: Readonly<Record<string, string>> | undefined): NamedRemovals {
  const text = annotations?.[REMOVE_VMS_ANNOTATION];
  if (text === undefined) return { vms: new Map(), fault: null };
  const named = parsedObject(text);
  if (named === null) return unreadable('it must be a JSON object with the UID of each VM by its name');
  const entries = Object.entries(named).map(([name, value]) => [name, readVm(value)] as const);
  if (entries.length > MAX_NAMED) return unreadable(`it names ${entries.length} VMs, and may name ${MAX_NAMED}`);
  return entries.every(isRight)
    ? { vms: new Map(entries), fault: null }
    : unreadable('each VM must be given by its name and its UID');
}

/** Returns whether a VM is to be removed by name. `keep`: only if it is then kept, or deleted. */
export function namedAmong({ vms }: NamedRemovals, keep?: boolean): (vm: { uid: string }) => boolean {
  const meant = [...vms.values()].filter((vm) => keep === undefined || vm.keep === keep);
  const uids = new Set(meant.map(({ uid }) => uid));
  return ({ uid }) => uids.has(uid);
}

/** Returns the annotation's value for these VMs; null for none, which takes the annotation off in a merge patch. */
export const removalsText = (vms: NamedRemovals['vms']): string | null =>
  vms.size === 0
    ? null
    : JSON.stringify(Object.fromEntries([...vms].map(([name, vm]) => [name, vm.keep ? vm : vm.uid])));

const unreadable = (fault: string): NamedRemovals => ({ vms: new Map(), fault });

/** Nothing but `"keep": true` keeps a VM, and nothing but a plain UID deletes one. */
function readVm(value: unknown): NamedVm | null {
  if (isText(value, LONGEST_UID)) return { uid: value, keep: false };
  if (!isObject(value)) return null;
  const { uid, keep } = value;
  return isText(uid, LONGEST_UID) && keep === true ? { uid, keep } : null;
}

const isRight = (entry: readonly [string, NamedVm | null]): entry is [string, NamedVm] =>
  isText(entry[0], LONGEST_NAME) && entry[1] !== null;

const isText = (text: unknown, longest: number): text is string =>
  typeof text === 'string' && text.length > 0 && text.length <= longest;
