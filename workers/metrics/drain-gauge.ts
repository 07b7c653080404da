import { Gauge, type Registry } from 'prom-client';
import { DRAINING_REASONS } from '../../api/pool/status.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';

/** VMs that are to leave nodes that are drained, from the status of their pools; every worker reports all pools. */
export class DrainGauge {
  readonly #vms: Gauge<'namespace' | 'pool' | 'reason'>;

  constructor(registry: Registry) {
    this.#vms = new Gauge({
      name: 'drover_pool_draining_vms',
      help: 'VMs of a pool that are to leave nodes that are drained, by what they wait for. Every worker reports all pools.',
      labelNames: ['namespace', 'pool', 'reason'],
      registers: [registry],
    });
  }

  look(pools: Iterable<StoredPool>): void {
    this.#vms.reset();
    for (const { metadata, spec, status } of pools) {
      if (spec.drain === undefined && status?.draining === undefined) continue;
      const labels = { namespace: metadata.namespace, pool: metadata.name };
      // A pool without drained nodes reports zero, so that an alert can tell it from a deleted pool.
      for (const reason of DRAINING_REASONS)
        this.#vms.set({ ...labels, reason }, status?.draining?.find((one) => one.reason === reason)?.vms ?? 0);
    }
  }
}
