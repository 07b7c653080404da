import { Gauge, type Registry } from 'prom-client';
import type { StoredPool } from '../../decisions/views/pool.ts';

/** State of the healing of pools, from their status; every worker reports all pools. */
export class HealingGauges {
  readonly #cycles: Gauge<'namespace' | 'pool' | 'phase'>;
  readonly #givenUp: Gauge<'namespace' | 'pool'>;
  readonly #suspended: Gauge<'namespace' | 'pool' | 'reason'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const everyWorker = 'Every worker reports all pools.';
    this.#cycles = new Gauge({
      name: 'drover_healing_cycles',
      help: `VMs that are being replaced, by the phase of their cycle. ${everyWorker}`,
      labelNames: ['namespace', 'pool', 'phase'],
      registers,
    });
    this.#givenUp = new Gauge({
      name: 'drover_healing_given_up',
      help: `VMs that are unhealthy, and left so after maxAttempts until a user asks. ${everyWorker}`,
      labelNames: ['namespace', 'pool'],
      registers,
    });
    this.#suspended = new Gauge({
      name: 'drover_healing_suspended',
      help: `1 for a pool whose unhealthy VMs are left as they are, by the reason of its condition HealingSuspended. ${everyWorker}`,
      labelNames: ['namespace', 'pool', 'reason'],
      registers,
    });
  }

  look(pools: Iterable<StoredPool>): void {
    for (const gauge of [this.#cycles, this.#givenUp, this.#suspended]) gauge.reset();
    for (const { metadata, status } of pools) {
      if (status?.healing === undefined) continue;
      const labels = { namespace: metadata.namespace, pool: metadata.name };
      const { cycles, finished } = status.healing;
      // A pool that currently heals nothing reports zero, so that an alert can tell it from a deleted pool.
      for (const phase of ['Removing', 'Waiting', 'Provisioning']) {
        this.#cycles.set({ ...labels, phase }, cycles.filter((one) => one.phase === phase).length);
      }
      this.#givenUp.set(labels, finished.filter(({ end }) => end === 'GivenUp').length);
      const suspended = status.conditions?.find(
        (condition) => condition.type === 'HealingSuspended' && condition.status === 'True',
      );
      if (suspended !== undefined) this.#suspended.set({ ...labels, reason: suspended.reason ?? 'Unknown' }, 1);
    }
  }
}
