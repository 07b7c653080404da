import { DETACHED_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { anyText, flag, object, optional, orNull, readAnnotation } from '../../lib/payload-reader.ts';

/** What a VM was in the pool that it has left, as an annotation of the VM and of its VMI keeps it. */
export interface FormerMember {
  /** Name of the pool. */
  pool: string;
  /** The revision of the VM's spec, or the revision that the VMI runs; null if unknown. */
  revision: string | null;
  /** Whether `drain` had given the VM its eviction strategy, which was taken back as the VM left. */
  wasDrained?: boolean;
}

const FORMER_MEMBER = object<FormerMember>({
  pool: anyText,
  revision: orNull(anyText),
  wasDrained: optional(flag),
});

/** Returns what the annotation says; null if there is none that drover wrote. */
export const formerMemberOf = (annotations: Readonly<Record<string, string>> = {}): FormerMember | null =>
  readAnnotation(annotations[DETACHED_ANNOTATION], FORMER_MEMBER);

export const formerMemberAnnotation = (former: FormerMember): Record<string, string> => ({
  [DETACHED_ANNOTATION]: JSON.stringify(former),
});
