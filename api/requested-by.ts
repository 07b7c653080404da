/**
 * The value of the annotation `drover.dev/requested-by`, `<who> <revision>`: who asked for a template. The revision
 * keeps it from vouching for a later template. Policies compare the whole name, which may have spaces.
 */
export const requesterAnnotation = (who: string, revision: string): string => `${who} ${revision}`;

/** Returns who asked for the template of this revision; undefined if it is for another revision, or absent. */
export function requesterOf(annotation: string | undefined, revision: string): string | undefined {
  return annotation?.endsWith(` ${revision}`) === true ? annotation.slice(0, -revision.length - 1) : undefined;
}

/** The same of such an annotation in CEL, whatever its revision; a policy fails if the annotation has no space. */
export const requesterInCel = (annotation: string): string =>
  `${annotation}.substring(0, ${annotation}.lastIndexOf(' '))`;

/** Who asked, if nobody knows. */
export const UNKNOWN_USER = 'an unknown user';
