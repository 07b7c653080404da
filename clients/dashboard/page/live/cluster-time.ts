/** A message takes some of it to arrive. Milliseconds. */
const NOTABLE_MS = 1_500;

/** How far the cluster's clock is ahead of this browser's, in milliseconds. */
let aheadMs = 0;

/**
 * The time by the cluster's clock, in milliseconds since the epoch: all times on the page are of that clock, and a
 * browser's may be hours off.
 */
export const clusterNow = (): number => Date.now() + aheadMs;

/** Takes over the cluster's time from a heartbeat, RFC 3339. */
export function hearTime(at: string): void {
  const found = Date.parse(at) - Date.now();
  if (Math.abs(found - aheadMs) >= NOTABLE_MS) aheadMs = found;
}
