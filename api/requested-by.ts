/**
 * The value of the annotation `drover.dev/requested-by`, `<who> <revision>`: who asked for a template. The revision
 * keeps it from vouching for a later template.
 */
export const requesterAnnotation = (who: string, revision: string): string => `${who} ${revision}`;

/** Returns who asked for the template of this revision; undefined if it is for another revision, or absent. */
export function requesterOf(annotation: string | undefined, revision: string): string | undefined {
  return annotation?.endsWith(` ${revision}`) === true ? annotation.slice(0, -revision.length - 1) : undefined;
}

/** Who asked, if nobody knows. */
export const UNKNOWN_USER = 'an unknown user';
