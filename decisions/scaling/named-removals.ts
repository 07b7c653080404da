import { REMOVE_VMS_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { parsedObject } from '../lib/json.ts';

/** VMs that users have asked a pool to remove, and no others in their place. */
export interface NamedRemovals {
  /** UIDs of the VMs, by their names: a later VM of the same name is not meant. */
  vms: ReadonlyMap<string, string>;
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
  const entries = Object.entries(named);
  if (entries.length > MAX_NAMED) return unreadable(`it names ${entries.length} VMs, and may name ${MAX_NAMED}`);
  return entries.every(isRight)
    ? { vms: new Map(entries as [string, string][]), fault: null }
    : unreadable('each VM must be given by its name and its UID');
}

/** Returns whether a VM is to be removed by name. */
export function namedAmong({ vms }: NamedRemovals): (vm: { uid: string }) => boolean {
  const uids = new Set(vms.values());
  return ({ uid }) => uids.has(uid);
}

/** Returns the annotation's value for these VMs; null for none, which takes the annotation off in a merge patch. */
export const removalsText = (vms: ReadonlyMap<string, string>): string | null =>
  vms.size === 0 ? null : JSON.stringify(Object.fromEntries(vms));

const unreadable = (fault: string): NamedRemovals => ({ vms: new Map(), fault });

const isRight = ([name, uid]: [string, unknown]): boolean => isText(name, LONGEST_NAME) && isText(uid, LONGEST_UID);

const isText = (text: unknown, longest: number): boolean =>
  typeof text === 'string' && text.length > 0 && text.length <= longest;
