import { durationMs } from '../../api/lib/duration.ts';
import type { HealingRules } from '../../api/rules/pool-defaults.ts';

/** The least time after a cycle until the VM's next one starts over with the first delay. */
const QUIET_MS = 60 * 60_000;

/**
 * How long to wait before the `attempt`-th replacement (from 1), in milliseconds. `random` in [0, 1) spreads VMs that
 * fail together.
 */
export function healingBackoffMs(
  { initial, factor, max, jitter }: HealingRules['backoff'],
  attempt: number,
  random: number,
): number {
  const delay = Math.min(durationMs(initial) * factor ** Math.min(attempt - 1, 1_000), durationMs(max));
  return Math.round(delay * (1 + jitter * random));
}

/** When a cycle that ended at `endedAt` is forgotten; milliseconds since the epoch. */
export const expiresAt = (endedAt: number, { max }: HealingRules['backoff']): number =>
  endedAt + Math.max(QUIET_MS, 2 * durationMs(max));
