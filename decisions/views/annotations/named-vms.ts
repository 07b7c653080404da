import { ADOPT_VMS_ANNOTATION, REMOVE_VMS_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { isObject, parsedObject } from '../../lib/json.ts';

/** A VM that is to leave a pool, or to join it. A later VM of its name is not meant. */
interface NamedVm {
  uid: string;
  /** Of one that is to leave: whether it is kept, and runs on without the pool, instead of being deleted. */
  keep: boolean;
}

/** VMs that users have named in an annotation of a pool. */
export interface NamedVms {
  /** By their names. */
  vms: ReadonlyMap<string, NamedVm>;
  /** Why the annotation can't be read; null if it can. */
  fault: string | null;
}

/** How many VMs may be named at once: an object's annotations have 256 KiB together. */
export const MAX_NAMED = 500;
const LONGEST_NAME = 253;
const LONGEST_UID = 128;

type Annotations = Readonly<Record<string, string>> | undefined;

/** VMs that the pool is to remove, and no others in their place. */
export const namedRemovals = (annotations: Annotations): NamedVms => namedIn(annotations, REMOVE_VMS_ANNOTATION);

/** VMs that the pool is to adopt, and to make none in their place. */
export const namedAdoptions = (annotations: Annotations): NamedVms => namedIn(annotations, ADOPT_VMS_ANNOTATION);

export type NamingAnnotation = typeof REMOVE_VMS_ANNOTATION | typeof ADOPT_VMS_ANNOTATION;

/** Users may have written anything. */
export function namedIn(annotations: Annotations, annotation: NamingAnnotation): NamedVms {
  const text = annotations?.[annotation];
  if (text === undefined) return { vms: new Map(), fault: null };
  const named = parsedObject(text);
  if (named === null) return unreadable('it must be a JSON object with the UID of each VM by its name');
  const entries = Object.entries(named).map(([name, value]) => [name, readVm(value)] as const);
  if (entries.length > MAX_NAMED) return unreadable(`it names ${entries.length} VMs, and may name ${MAX_NAMED}`);
  return entries.every(isRight)
    ? { vms: new Map(entries), fault: null }
    : unreadable('each VM must be given by its name and its UID');
}

/** Returns whether a VM is among these. `keep`: only if it is to be kept, or deleted. */
export function namedAmong({ vms }: NamedVms, keep?: boolean): (vm: { uid: string }) => boolean {
  const meant = [...vms.values()].filter((vm) => keep === undefined || vm.keep === keep);
  const uids = new Set(meant.map(({ uid }) => uid));
  return ({ uid }) => uids.has(uid);
}

/** Returns the annotation's value for these VMs; null for none, which takes the annotation off in a merge patch. */
export const namesText = (vms: NamedVms['vms']): string | null =>
  vms.size === 0
    ? null
    : JSON.stringify(Object.fromEntries([...vms].map(([name, vm]) => [name, vm.keep ? vm : vm.uid])));

const unreadable = (fault: string): NamedVms => ({ vms: new Map(), fault });

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
