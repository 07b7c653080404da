const RUNS_SHOWN = 4;

/** Formats names as Events and the Web UI show them, by number: `web-1, web-3 … web-250 (249)`. */
export function formatNames(names: readonly string[]): string {
  const runs: { first: string; last: string; next: string; count: number }[] = [];
  for (const name of [...names].sort(byNumber)) {
    const run = runs.at(-1);
    const next = name.replace(/\d+$/, (digits) => String(Number(digits) + 1));
    if (run?.next === name) Object.assign(run, { last: name, next, count: run.count + 1 });
    else runs.push({ first: name, last: name, next, count: 1 });
  }
  const parts = runs.slice(0, RUNS_SHOWN).map(({ first, last, count }) => {
    if (count === 1) return first;
    return count === 2 ? `${first}, ${last}` : `${first} … ${last}`;
  });
  if (runs.length > RUNS_SHOWN) parts.push('…');
  return parts.join(', ') + (names.length > RUNS_SHOWN ? ` (${names.length})` : '');
}

/** Compares names: `web-2` before `web-10`. */
export const byNumber = new Intl.Collator('en', { numeric: true }).compare;
