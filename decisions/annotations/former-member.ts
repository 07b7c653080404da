import { DETACHED_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { parsedObject } from '../lib/json.ts';

/** What a VM was in the pool that it has left, as an annotation of the VM and of its VMI keeps it. */
export interface FormerMember {
  /** Name of the pool. */
  pool: string;
  /** The revision of the VM's spec, or the revision that the VMI runs; null if unknown. */
  revision: string | null;
}

/** Returns what the annotation says; null if there is none that drover wrote. */
export function formerMemberOf(annotations: Readonly<Record<string, string>> = {}): FormerMember | null {
  const value = parsedObject(annotations[DETACHED_ANNOTATION]);
  if (value === null) return null;
  const { pool, revision } = value;
  return typeof pool === 'string' && (revision === null || typeof revision === 'string') ? { pool, revision } : null;
}

/** The annotation of a VM or a VMI that has left its pool. */
export const formerMemberAnnotation = ({ pool, revision }: FormerMember): Record<string, string> => ({
  [DETACHED_ANNOTATION]: JSON.stringify({ pool, revision }),
});
