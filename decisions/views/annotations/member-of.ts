import { MEMBER_OF_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { ObjectMeta } from '../../../api/objects.ts';
import { anyText, object, readAnnotation, time } from '../../lib/payload-reader.ts';

/** Which pool a VM is of, as an annotation of the VM keeps it. */
export interface MemberOf {
  /** UID of the pool. */
  uid: string;
  /** Name of the VM: a clone has the annotation of the VM that it was made from. */
  vm: string;
  /** RFC 3339, by the API server's clock: when the VM was made, or became the pool's. */
  since: string;
}

const MEMBER_OF = object<MemberOf>({ uid: anyText, vm: anyText, since: time });

/**
 * How much later than its record a VM may have been created: calls are tried again, and the API server's clock is known
 * to the second at best.
 */
const TOLERANCE_MS = 2 * 60_000;

/** Returns what the annotation says; null if there is none that drover wrote, or it is of a VM of another name. */
export function memberOf({ name, annotations = {} }: Pick<ObjectMeta, 'name' | 'annotations'>): MemberOf | null {
  const found = readAnnotation(annotations[MEMBER_OF_ANNOTATION], MEMBER_OF);
  return found?.vm === name ? found : null;
}

/** Reports whether the VM was cloned from a pool's: a clone has the annotation of the other VM. */
export const isClone = ({ name, annotations = {} }: Pick<ObjectMeta, 'name' | 'annotations'>): boolean =>
  (readAnnotation(annotations[MEMBER_OF_ANNOTATION], MEMBER_OF)?.vm ?? name) !== name;

/** The annotation of the VM of this name, which is the pool's from `now` on (milliseconds since the epoch). */
export const memberOfAnnotation = (uid: string, vm: string, now: number): Record<string, string> => ({
  [MEMBER_OF_ANNOTATION]: JSON.stringify({ uid, vm, since: new Date(now).toISOString() } satisfies MemberOf),
});

/** Whether the VM is younger than its membership: it was made again from a copy, as by a restore. */
export const isMadeAgain = ({ since }: MemberOf, createdAt: number): boolean =>
  createdAt > Date.parse(since) + TOLERANCE_MS;
