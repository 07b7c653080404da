/**
 * Who asked for a template, as the annotation `drover.dev/asked-by` tells it: `<who> <revision>`, so that it vouches
 * for no later one.
 */
export const askedByStamp = (who: string, revision: string): string => `${who} ${revision}`;

/** Who asked for the template of this revision; undefined where the stamp is of another, or there is none. */
export function askerOf(stamp: string | undefined, revision: string): string | undefined {
  return stamp?.endsWith(` ${revision}`) === true ? stamp.slice(0, -revision.length - 1) : undefined;
}
