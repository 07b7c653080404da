import { Histogram, type Registry } from 'prom-client';
import type { VmiView } from '../../decisions/views/vmi.ts';

/** After this time, in milliseconds, something else held the rollout: a window, an approval, its end. */
const LONGEST_MS = 300_000;

interface Rolling {
  namespace: string;
  pool: string;
  /** Whether the pool has VMs to update, and nothing holds it. */
  isRollingOut: boolean;
}

/**
 * How long rollouts leave a place in the disruption budget unused: from a VM of the pool that is ready again until the
 * next one goes down.
 */
export class Handovers {
  readonly #seconds: Histogram;
  /** When places got free that no VM has taken yet, by pool; the oldest first. */
  readonly #free = new Map<string, number[]>();

  constructor(registry: Registry) {
    this.#seconds = new Histogram({
      name: 'drover_rollout_handover_seconds',
      help: 'From a VM of a pool that rolls out and is ready again until the next one goes down.',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300],
      registers: [registry],
    });
  }

  change(
    { before, after }: { before: VmiView | undefined; after: VmiView | undefined },
    rollingOf: (vmi: VmiView) => Rolling | null,
    now = Date.now(),
  ): void {
    const [wasUp, isUp] = [isUpIn(before), isUpIn(after)];
    if (wasUp === isUp && before?.uid === after?.uid) return;
    const rolling = rollingOf((after ?? before)!);
    if (rolling === null) return;
    const { namespace, pool, isRollingOut } = rolling;
    const key = `${namespace}/${pool}`;
    if (!isRollingOut) return void this.#free.delete(key);
    const free = this.#free.get(key) ?? [];
    this.#free.set(key, free);
    if (wasUp) this.#observe(free, now);
    if (isUp) free.push(now);
  }

  #observe(free: number[], now: number): void {
    let since = free.shift();
    while (since !== undefined && now - since > LONGEST_MS) since = free.shift();
    if (since !== undefined) this.#seconds.observe((now - since) / 1_000);
  }
}

const isUpIn = (vmi: VmiView | undefined): boolean => vmi !== undefined && vmi.ready && !vmi.deleting;
