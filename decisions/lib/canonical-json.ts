/** An array or object whose text has begun, with the place of its next part. */
interface Open {
  parts: Record<string | number, unknown>;
  /** Null for an array. */
  keys: string[] | null;
  count: number;
  next: number;
}

/**
 * Returns JSON with sorted keys, so that equal values have equal texts; keys with undefined values are left out. Not
 * recursive: objects from the API server may be nested deeper than the stack allows.
 */
export function canonical(value: unknown): string {
  const open: Open[] = [];
  let text = begin(value, open);
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    if (inner.next === inner.count) {
      text += inner.keys === null ? ']' : '}';
      open.pop();
      continue;
    }
    if (inner.next > 0) text += ',';
    const key = inner.keys === null ? inner.next : inner.keys[inner.next]!;
    if (inner.keys !== null) text += `${JSON.stringify(key)}:`;
    inner.next++;
    text += begin(inner.parts[key], open);
  }
  return text;
}

/** Returns the text of a leaf, or the beginning of an array or object, which is then open. */
function begin(value: unknown, open: Open[]): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const parts = value as Open['parts'];
  const keys = Array.isArray(value) ? null : keysOf(parts);
  open.push({ parts, keys, count: keys === null ? (value as unknown[]).length : keys.length, next: 0 });
  return keys === null ? '[' : '{';
}

const keysOf = (parts: Open['parts']): string[] =>
  Object.keys(parts)
    .filter((key) => parts[key] !== undefined)
    .sort();

/** Reports whether `current` already says everything in `wanted`. */
export function saysTheSame<S extends object>(current: S | undefined, wanted: S): boolean {
  if (current === undefined) return false;
  const said = Object.fromEntries(Object.keys(wanted).map((key) => [key, current[key as keyof S]]));
  return canonical(said) === canonical(wanted);
}
