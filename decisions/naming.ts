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

/** `web-1, web-2, web-3`, or `web-1 … web-250 (250)` where they are many: names as Events and the Web UI show them. */
export function namesInWords(names: readonly string[]): string {
  return names.length <= 5 ? names.join(', ') : `${names[0]} … ${names.at(-1)} (${names.length})`;
}
