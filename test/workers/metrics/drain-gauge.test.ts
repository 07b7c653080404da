import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { drainingCounts } from '../../../decisions/drain/condition.ts';
import type { EvacuationStatus } from '../../../decisions/drain/plan.ts';
import { poolGauges } from '../../../workers/metrics/pool-gauges.ts';
import { aPool } from '../../decisions/fixtures/fleets.ts';

const status = (vm: string, state: EvacuationStatus['state']): EvacuationStatus => ({
  vm,
  node: 'node-1',
  state,
  message: 'waits',
});
const NOW = '2026-01-01T00:00:00.000Z';
const poolWith = (statuses: EvacuationStatus[], spec: Partial<PoolSpec> = { drain: {} }) => {
  const pool = aPool(spec);
  return { ...pool, status: { ...pool.status!, ...drainingCounts(pool, statuses, NOW) } };
};

async function metricsOf(...looks: ReturnType<typeof poolWith>[][]): Promise<string> {
  const registry = new Registry();
  const gauges = poolGauges(registry);
  for (const pools of looks) gauges.look(pools);
  return registry.metrics();
}

const line = (reason: string, count: number): string =>
  `drover_pool_draining_vms{namespace="shop",pool="web",reason="${reason}"} ${count}\n`;

test('VMs that leave drained nodes are counted by what they wait for, and zero again afterwards', async () => {
  const busy = poolWith([status('web-1', 'Evacuating'), status('web-2', 'Budget'), status('web-3', 'Budget')]);
  expect(busy.status.draining).toEqual([
    { reason: 'Evacuating', vms: 1, since: NOW },
    { reason: 'WaitingForBudget', vms: 2 },
  ]);
  const told = await metricsOf([busy]);
  for (const expected of [line('Evacuating', 1), line('WaitingForBudget', 2), line('Stuck', 0)])
    expect(told).toContain(expected);

  expect(drainingCounts(busy, [], NOW)).toEqual({ draining: [] });
  const after = await metricsOf([busy], [poolWith([])]);
  for (const expected of [line('Evacuating', 0), line('WaitingForBudget', 0)]) expect(after).toContain(expected);
});

test('a pool without drain, or that is gone, has no sample', async () => {
  expect(await metricsOf([poolWith([], {})])).not.toContain('drover_pool_draining_vms{');
  expect(await metricsOf([poolWith([])], [])).not.toContain('drover_pool_draining_vms{');
});
