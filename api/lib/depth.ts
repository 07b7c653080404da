/**
 * Deeper than any object of KubeVirt's API, which has some twenty levels. Protects recursive code from a stack
 * overflow.
 */
export const MAX_DEPTH = 64;

/** Returns the keys that lead to a value nested deeper than `most` levels; null if there is none. */
export function tooDeep(value: unknown, most: number = MAX_DEPTH): string[] | null {
  const open: { value: unknown; path: readonly string[] }[] = [{ value, path: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.path.length >= most) return [...next.path];
    for (const [key, inner] of Object.entries(next.value))
      if (typeof inner === 'object' && inner !== null) open.push({ value: inner, path: [...next.path, key] });
  }
  return null;
}
