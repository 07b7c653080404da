/**
 * Deeper than any object of KubeVirt's API, which has some twenty levels; code that walks objects has a stack that
 * ends.
 */
export const MOST_DEPTH = 64;

/** Where `value` is nested deeper than `most` levels, as the keys that lead there; null if it is not. */
export function tooDeep(value: unknown, most: number = MOST_DEPTH): string[] | null {
  const open: { value: unknown; path: readonly string[] }[] = [{ value, path: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.path.length >= most) return [...next.path];
    for (const [key, inner] of Object.entries(next.value))
      if (typeof inner === 'object' && inner !== null) open.push({ value: inner, path: [...next.path, key] });
  }
  return null;
}
