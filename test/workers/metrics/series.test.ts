import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { DRAINING_REASONS } from '../../../api/pool/status.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { healthOf } from '../../../workers/health/health-of.ts';
import { createMetrics } from '../../../workers/metrics/metrics.ts';
import { condition } from '../../clients/healing/pools.ts';
import { aPool, aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

const POOLS = 1_000;
const namesOf = (number: number) => ({ namespace: 'shop', pool: `web-${number}` });

/** A pool in all states at once in which a pool has series. */
const busy = (number: number): StoredPool => {
  const pool = aPool({ replicas: 5, drain: {} });
  return {
    ...pool,
    metadata: { ...pool.metadata, name: namesOf(number).pool },
    status: {
      replicas: 5,
      rollout: { revision: 'a', startedAt: '2026-01-01T00:00:10Z', batches: 1, lastBatch: 1, step: 0, failures: [] },
      draining: DRAINING_REASONS.map((reason) => ({ reason, vms: 1 })),
      healing: { cycles: [], finished: [] },
      conditions: [
        condition('Progressing', 'True', 'RollingOut'),
        condition('Stalled', 'True', 'InvalidTemplate'),
        condition('HealingSuspended', 'True', 'TooManyUnhealthy'),
      ],
    },
  };
};

class Worker {
  readonly #metrics = createMetrics('default');
  readonly pools = new Map(Array.from({ length: POOLS }, (_, number) => [number, busy(number)]));
  isWatching = true;
  readonly #none = { values: () => [] };
  readonly #cache = {
    caches: {},
    missing: [],
    vms: {
      values: () =>
        [...this.pools.values()].map(({ metadata: { name, uid } }) =>
          aVm(`${name}-1`, {
            owner: { kind: 'VirtualMachinePool', name, uid },
            restartRequired: { since: null, message: 'a field was changed' },
          }),
        ),
    },
    pools: this.pools,
    ...Object.fromEntries(
      ['replicaSets', 'vmiSets', 'operations', 'schedules', 'budgets'].map((kind) => [kind, this.#none]),
    ),
  } as unknown as ClusterCache;

  /** A VM of each pool runs and ends. */
  boot(): this {
    for (const number of this.pools.keys()) {
      const vmi = { ...aVmi(aVm(`web-${number}-1`)), uid: `vmi-${number}`, createdAt: 0 };
      const phases = ['Pending', 'Scheduling', 'Scheduled', 'Running'].map((phase, at) => ({
        ...vmi,
        phase,
        phaseSince: at * 5_000,
      }));
      for (const [at, after] of [...phases, undefined].entries())
        this.#metrics.vms.change({ before: phases[at - 1], after }, () => namesOf(number), true);
    }
    return this;
  }

  /** How many series a scrape shows, and how many of them name a pool. */
  async scrape(): Promise<{ all: number; ofPools: number }> {
    const one = { namespace: undefined, cache: this.#cache, isServing: true, watches: () => this.isWatching };
    const text = await healthOf([one], this.#metrics, []).metrics();
    const series = text.split('\n').filter((line) => line.startsWith('drover'));
    return { all: series.length, ofPools: series.filter((line) => line.includes('pool="')).length };
  }
}

test('the worker that watches reports at most 30 series a pool', async () => {
  const { all, ofPools } = await new Worker().boot().scrape();
  expect(ofPools / POOLS).toBeGreaterThan(20);
  expect(all).toBeLessThanOrEqual(30 * POOLS);
});

test('a pool that is gone has no series', async () => {
  const worker = new Worker().boot();
  await worker.scrape();
  worker.pools.clear();
  expect((await worker.scrape()).ofPools).toBe(0);
});

test('a worker that does not watch reports no pool, and one that no longer does', async () => {
  const worker = new Worker().boot();
  worker.isWatching = false;
  expect((await worker.scrape()).ofPools).toBe(0);
});
