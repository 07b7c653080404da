/** Yields every field of a value and of everything nested in it, at any depth. */
export function* entriesIn(value: unknown): Generator<[name: string, value: unknown]> {
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (next === null || typeof next !== 'object') continue;
    for (const entry of Object.entries(next)) {
      yield entry;
      open.push(entry[1]);
    }
  }
}
