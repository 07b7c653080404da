/** Temporal takes at most 2 KB for one search attribute, and names have at most 63 characters. */
const MAX_BYTES = 1_500;

/**
 * Adds the namespaces of these `namespace/name` to the list. Returns the same list if it has them all, and null if they
 * are too many for one search attribute.
 */
export function withNamespaces(known: string[] | null, keys: readonly string[]): string[] | null {
  if (known === null) return null;
  const all = new Set([...known, ...keys.map((key) => key.slice(0, key.indexOf('/')))]);
  if (all.size === known.length) return known;
  const namespaces = [...all];
  return JSON.stringify(namespaces).length > MAX_BYTES ? null : namespaces;
}
