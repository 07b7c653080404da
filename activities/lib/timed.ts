/** Does the work, and returns how many seconds it took, too. */
export function timed<T>(work: () => T): [result: T, seconds: number] {
  const began = performance.now();
  const result = work();
  return [result, (performance.now() - began) / 1_000];
}
