/**
 * The value of the annotation `drover.dev/requested-by`, `<who> <revision>`: who asked for a template. The revision
 * keeps it from vouching for a later template.
 */
export const requesterAnnotation = (who: string, revision: string): string => `${who} ${revision}`;

/** Returns who asked for the template of this revision; undefined if the stamp is for another revision, or absent. */
export function requesterOf(stamp: string | undefined, revision: string): string | undefined {
  return stamp?.endsWith(` ${revision}`) === true ? stamp.slice(0, -revision.length - 1) : undefined;
}
