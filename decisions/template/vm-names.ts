/** VMs of a pool are named `<pool>-<number>`, counted from 1; a pool taken over from KubeVirt may have a VM 0, too. */
export const vmName = (pool: string, number: number): string => `${pool}-${number}`;

/** Returns the number in a VM's name; null if the pool would not give that name. */
export function numberOf(pool: string, name: string): number | null {
  if (!name.startsWith(`${pool}-`)) return null;
  const digits = name.slice(pool.length + 1);
  return /^(0|[1-9]\d*)$/.test(digits) ? Number(digits) : null;
}

/**
 * Returns the `count` lowest numbers from `first` on whose names are free: gaps are filled before the sequence grows.
 */
export function freeNumbers(pool: string, count: number, isTaken: (name: string) => boolean, first = 1): number[] {
  const numbers: number[] = [];
  for (let number = first; numbers.length < count; number++) {
    if (!isTaken(vmName(pool, number))) numbers.push(number);
  }
  return numbers;
}
