import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { poolGauges } from '../../../workers/metrics/pool-gauges.ts';
import { VmMetrics } from '../../../workers/metrics/vm-metrics.ts';
import { aPool, aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

const OF_POOL = 'namespace="shop",pool="web"';

class Watched {
  readonly registry = new Registry();
  readonly metrics = new VmMetrics(this.registry);
  #now: VmiView | undefined;
  pool: { namespace: string; pool: string } | null = { namespace: 'shop', pool: 'web' };

  /** Changes the VMI; `null`: it is deleted. */
  is(change: Partial<VmiView> | null, shouldReport = true): this {
    const after = change === null ? undefined : { ...aVmi(aVm('web-1')), createdAt: 0, ...change };
    this.metrics.change({ before: this.#now, after }, () => this.pool, shouldReport);
    this.#now = after;
    return this;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}

const booted = (watched: Watched, uid = 'one'): Watched =>
  watched
    .is({ uid, phase: 'Pending', phaseSince: 1_000 })
    .is({ uid, phase: 'Scheduling', phaseSince: 3_000 })
    .is({ uid, phase: 'Running', phaseSince: 8_000 });

describe('a VM of a pool', () => {
  test('that boots is one start, with the time that it took', async () => {
    const text = await booted(new Watched()).text();
    expect(text).toContain(`drover_vm_starts_total{${OF_POOL}} 1`);
    expect(text).toContain(`drover_vm_start_seconds_total{${OF_POOL}} 8`);
    expect(text).not.toContain('drover_vm_stops_total{');
  });

  test('that ends, or whose VMI goes or is replaced, is one stop each', async () => {
    const watched = booted(new Watched()).is({ uid: 'one', phase: 'Running', ready: false, phaseSince: 8_000 });
    watched.is({ uid: 'one', phase: 'Succeeded', phaseSince: 20_000 }).is(null);
    expect(await watched.text()).toContain(`drover_vm_stops_total{${OF_POOL}} 1`);
    booted(watched, 'two').is(null);
    expect(await watched.text()).toContain(`drover_vm_stops_total{${OF_POOL}} 2`);
    booted(watched, 'three');
    booted(watched, 'four');
    expect(await watched.text()).toContain(`drover_vm_stops_total{${OF_POOL}} 3`);
    expect(await watched.text()).toContain(`drover_vm_starts_total{${OF_POOL}} 4`);
  });

  test('that never ran is no stop when it fails', async () => {
    const text = await new Watched().is({ phase: 'Scheduling' }).is({ phase: 'Failed' }).is(null).text();
    expect(text).not.toContain('drover_vm_stops_total{');
    expect(text).not.toContain('drover_vm_starts_total{');
  });

  test('that ran before the watch began is no start, and a stop when it ends', async () => {
    const text = await new Watched().is({ phase: 'Running' }, false).is(null).text();
    expect(text).not.toContain('drover_vm_starts_total{');
    expect(text).toContain(`drover_vm_stops_total{${OF_POOL}} 1`);
  });

  test('that ends while another worker watches is no stop here', async () => {
    expect(await booted(new Watched()).is(null, false).text()).not.toContain('drover_vm_stops_total{');
  });

  test("is still counted as its pool's when it is gone before its VMI", async () => {
    const watched = booted(new Watched());
    watched.pool = null;
    expect(await watched.is({ uid: 'one', phase: 'Failed' }).text()).toContain(`drover_vm_stops_total{${OF_POOL}} 1`);
  });
});

test('a VM of no pool is not counted', async () => {
  const watched = new Watched();
  watched.pool = null;
  expect(await booted(watched).text()).not.toContain('drover_vm_starts_total{');
});

test('a pool is measured by its spec and its status, and no longer once it is gone', async () => {
  const registry = new Registry();
  const gauges = poolGauges(registry);
  const status: PoolStatus = {
    replicas: 4,
    readyReplicas: 3,
    updatedReplicas: 1,
    rollout: { revision: 'a', startedAt: '2026-01-01T00:00:10Z', batches: 1, lastBatch: 1, step: 0, failures: [] },
    disruptedVMs: [{ vm: 'web-1', by: 'pool/default/shop/web/update/a/1', at: '2026-01-01T00:00:20Z' }],
    conditions: [
      {
        type: 'Progressing',
        status: 'True',
        reason: 'RollingOut',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
      {
        type: 'Stalled',
        status: 'True',
        reason: 'InvalidTemplate',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  };
  const pool: StoredPool = { ...aPool({ replicas: 5 }), status };
  gauges.look([pool]);
  const text = await registry.metrics();
  for (const [name, count] of Object.entries({
    desired: 5,
    current: 4,
    ready: 3,
    updated: 1,
    unavailable: 2,
    max_unavailable: 1,
    claimed: 1,
  }))
    expect(text).toContain(`drover_pool_${name}_vms{${OF_POOL}} ${count}`);
  expect(text).toContain(`drover_pool_rollout{${OF_POOL},state="RollingOut"} 1`);
  expect(text).toContain(`drover_pool_stalled{${OF_POOL},reason="InvalidTemplate"} 1`);
  const began = Date.parse('2026-01-01T00:00:10Z') / 1_000;
  expect(text).toContain(`drover_pool_rollout_started_timestamp_seconds{${OF_POOL}} ${began}`);
  gauges.look([]);
  expect(await registry.metrics()).not.toContain(OF_POOL);
});
