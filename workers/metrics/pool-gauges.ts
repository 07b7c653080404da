import { Gauge, type Registry } from 'prom-client';
import type { PoolStatus } from '../../api/pool/pool.ts';
import { maxUnavailableOf } from '../../decisions/disruption-budget/unavailability.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';

type Told = Pick<
  PoolStatus,
  'replicas' | 'readyReplicas' | 'updatedReplicas' | 'standbyReplicas' | 'readyStandbyReplicas'
> & {
  availableReplicas?: number;
  unavailableReplicas?: number;
};

/** State of pools, from their spec and status; every worker reports all of them. */
export class PoolGauges {
  readonly #counts: Record<
    | 'desired'
    | 'current'
    | 'ready'
    | 'updated'
    | 'available'
    | 'unavailable'
    | 'max_unavailable'
    | 'claimed'
    | 'standby'
    | 'standby_ready',
    Gauge<'namespace' | 'pool'>
  >;
  readonly #rollout: Gauge<'namespace' | 'pool' | 'state'>;
  readonly #rolloutStarted: Gauge<'namespace' | 'pool'>;
  readonly #stalled: Gauge<'namespace' | 'pool' | 'reason'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const everyWorker = 'Every worker reports all pools.';
    const gauge = (name: string, help: string): Gauge<'namespace' | 'pool'> =>
      new Gauge({
        name: `drover_pool_${name}_vms`,
        help: `${help} ${everyWorker}`,
        labelNames: ['namespace', 'pool'],
        registers,
      });
    this.#counts = {
      desired: gauge('desired', 'VMs that the spec of a pool asks for.'),
      current: gauge('current', 'VMs that a pool has.'),
      ready: gauge('ready', 'VMs of a pool whose VMIs are ready.'),
      updated: gauge('updated', 'VMs of a pool that carry its newest revision.'),
      available: gauge('available', 'VMs of a pool that have been ready for minReadySeconds.'),
      standby: gauge('standby', 'Standby VMs that a pool has, in addition to its replicas.'),
      standby_ready: gauge('standby_ready', 'Standby VMs of a pool that are ready to become replicas.'),
      max_unavailable: gauge(
        'max_unavailable',
        'VMs of a pool that may be unavailable at once, by its disruption budget.',
      ),
      claimed: gauge('claimed', 'VMs of a pool for which a place in its disruption budget is claimed.'),
      unavailable: gauge('unavailable', 'VMs that the spec of a pool asks for and that are not available.'),
    };
    this.#rollout = new Gauge({
      name: 'drover_pool_rollout',
      help: `1 for the state of a pool's rollout: the reason of its condition Progressing. ${everyWorker}`,
      labelNames: ['namespace', 'pool', 'state'],
      registers,
    });
    this.#rolloutStarted = new Gauge({
      name: 'drover_pool_rollout_started_timestamp_seconds',
      help: `When the rollout of a pool began that has not completed. ${everyWorker}`,
      labelNames: ['namespace', 'pool'],
      registers,
    });
    this.#stalled = new Gauge({
      name: 'drover_pool_stalled',
      help: `1 for a pool that cannot continue without a user, by the reason of its condition Stalled. ${everyWorker}`,
      labelNames: ['namespace', 'pool', 'reason'],
      registers,
    });
  }

  look(pools: Iterable<StoredPool>): void {
    for (const gauge of [...Object.values(this.#counts), this.#rollout, this.#rolloutStarted, this.#stalled])
      gauge.reset();
    for (const pool of pools) {
      const { metadata, spec, status } = pool;
      const labels = { namespace: metadata.namespace, pool: metadata.name };
      const {
        replicas = 0,
        readyReplicas = 0,
        updatedReplicas = 0,
        availableReplicas = readyReplicas,
        standbyReplicas = 0,
        readyStandbyReplicas = 0,
      }: Partial<Told> = status ?? {};
      this.#counts.desired.set(labels, spec.replicas);
      this.#counts.current.set(labels, replicas);
      this.#counts.ready.set(labels, readyReplicas);
      this.#counts.updated.set(labels, updatedReplicas);
      this.#counts.available.set(labels, availableReplicas);
      this.#counts.standby.set(labels, standbyReplicas);
      this.#counts.standby_ready.set(labels, readyStandbyReplicas);
      this.#counts.unavailable.set(labels, Math.max(0, spec.replicas - availableReplicas));
      this.#counts.max_unavailable.set(labels, maxUnavailableOf(pool));
      this.#counts.claimed.set(labels, status?.disruptedVMs?.length ?? 0);
      this.#lookAtState(labels, status ?? {});
    }
  }

  #lookAtState(
    labels: { namespace: string; pool: string },
    { rollout, conditions = [] }: Pick<PoolStatus, 'rollout' | 'conditions'>,
  ): void {
    if (rollout !== undefined && rollout.completedAt === undefined)
      this.#rolloutStarted.set(labels, Date.parse(rollout.startedAt) / 1_000);
    for (const { type, status: is, reason = 'Unknown' } of conditions) {
      if (type === 'Progressing') this.#rollout.set({ ...labels, state: reason }, 1);
      if (type === 'Stalled' && is === 'True') this.#stalled.set({ ...labels, reason }, 1);
    }
  }
}
