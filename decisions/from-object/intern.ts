const MAX_KEPT = 1000;
const kept = new Map<string, string>();

/**
 * Returns one shared copy of a text for the thousands of objects that hold it. Only for texts with few distinct values.
 */
export function intern(text: string): string {
  const known = kept.get(text);
  if (known !== undefined) return known;
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(text, text);
  return text;
}

export const internOrNull = (text: string | undefined): string | null =>
  text === undefined || text === '' ? null : intern(text);
