/** VMs of a pool are named `<pool>-<number>`, counted from 1. */
export const vmName = (pool: string, number: number): string => `${pool}-${number}`;

/** The number in a VM's name, or null for a name that the pool would not have given. */
export function numberOf(pool: string, name: string): number | null {
  if (!name.startsWith(`${pool}-`)) return null;
  const digits = name.slice(pool.length + 1);
  return /^[1-9]\d*$/.test(digits) ? Number(digits) : null;
}

/** The `count` lowest numbers whose names are free: gaps are filled before the sequence grows. */
export function freeNumbers(pool: string, count: number, isTaken: (name: string) => boolean): number[] {
  const numbers: number[] = [];
  for (let number = 1; numbers.length < count; number++) {
    if (!isTaken(vmName(pool, number))) numbers.push(number);
  }
  return numbers;
}

const RUNS_SHOWN = 4;

/** `web-1, web-3 … web-250 (249)`: names as Events and the Web UI show them, in the order of their numbers. */
export function namesInWords(names: readonly string[]): string {
  const runs: { first: string; last: string; next: string; count: number }[] = [];
  for (const name of [...names].sort(byNumber)) {
    const run = runs.at(-1);
    const next = name.replace(/\d+$/, (digits) => String(Number(digits) + 1));
    if (run?.next === name) Object.assign(run, { last: name, next, count: run.count + 1 });
    else runs.push({ first: name, last: name, next, count: 1 });
  }
  const words = runs.slice(0, RUNS_SHOWN).map(({ first, last, count }) => (count === 1 ? first : count === 2 ? `${first}, ${last}` : `${first} … ${last}`));
  if (runs.length > RUNS_SHOWN) words.push('…');
  return words.join(', ') + (names.length > RUNS_SHOWN ? ` (${names.length})` : '');
}

/** Compares names: `web-2` before `web-10`. */
export const byNumber = new Intl.Collator('en', { numeric: true }).compare;

/** With which the words about a healing cycle begin. */
export const cycleNamed = ({ vm, attempt }: { vm: string; attempt: number }): string =>
  `${vm} (replacement ${attempt}): `;

/**
 * Healing cycles as the condition `Healing` begins with them, a sentence each: the names of all first, for whoever sees
 * only its beginning.
 */
export function cyclesInWords(cycles: readonly { vm: string; attempt: number; why: string }[]): string[] {
  const [first, ...rest] = cycles.map((cycle) => `${cycleNamed(cycle)}${cycle.why}`);
  if (first === undefined) return [];
  return rest.length === 0 ? [first] : [`${namesInWords(cycles.map(({ vm }) => vm))}: ${first}`, ...rest];
}
