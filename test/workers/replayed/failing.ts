/** The same workflow in a release that has a fault. */
export function replayed(): Promise<void> {
  return Promise.reject(new TypeError('a fault'));
}
