import { expect, test } from 'vitest';
import type { ClusterCache } from '../../activities/cache/cluster-cache.ts';
import { healthOf } from '../../workers/health/health-of.ts';
import { createMetrics } from '../../workers/metrics/metrics.ts';

/** A cache of so many VMs, which has failed to follow for so long. */
const cacheOf = (size: number, behindMs = 0, { lost = false, synced = true } = {}): ClusterCache => {
  const none = { values: () => [] };
  return {
    caches: {
      virtualmachines: { size, behindMs, synced, missing: null },
      virtualmachinepools: { size: 0, behindMs: 0, synced: true, missing: null },
      nodes: { synced: false, missing: 'forbidden' },
    },
    lost: lost ? AbortSignal.abort() : new AbortController().signal,
    missing: [],
    ...Object.fromEntries(
      ['pools', 'vms', 'replicaSets', 'vmiSets', 'operations', 'schedules', 'budgets'].map((kind) => [kind, none]),
    ),
  } as unknown as ClusterCache;
};

const serving = { namespace: 'shop', cache: cacheOf(3), isServing: true, watches: () => true };
const starting = { namespace: 'bank', cache: cacheOf(0), isServing: false, watches: () => false };
const waiting = { namespace: 'club', cache: undefined, isServing: false, watches: () => false };

test.each([
  ['all that it serves', [serving], true],
  ['all but what waits to be left to it', [serving, waiting], true],
  ['one of two that are left to it', [serving, starting], false],
  ['nothing, since nothing is left to it', [waiting], false],
])('a worker that takes work for %s', (_what, all, isReady) =>
  expect(healthOf(all, createMetrics('default'), []).unready() === undefined).toBe(isReady),
);

test.each([
  [
    'what waits',
    { ...waiting, namespace: undefined },
    'the worker waits for Temporal, the API server or `drover setup`, as the log says',
  ],
  [
    'a namespace',
    waiting,
    'namespace club: the worker waits for Temporal, the API server or `drover setup`, as the log says',
  ],
  [
    'a lost server',
    { ...starting, cache: cacheOf(0, 0, { lost: true, synced: false }) },
    'namespace bank: the API server does not answer',
  ],
  [
    'a kind that is refused',
    { ...starting, cache: cacheOf(0, 20_000, { lost: true }) },
    'namespace bank: the API server does not let it follow virtualmachines',
  ],
  [
    'lists',
    { ...starting, cache: cacheOf(0, 0, { synced: false }) },
    'namespace bank: virtualmachines are being listed',
  ],
  ['Temporal', starting, 'namespace bank: Temporal has not accepted its workers yet, or it is shutting down'],
])('a worker that is not ready says why: %s', (_what, one, why) =>
  expect(healthOf([one], createMetrics('default'), []).unready()).toBe(why),
);

test('the metrics tell of all namespaces together, and which are served', async () => {
  const metrics = createMetrics('default');
  const other = { namespace: 'bank', cache: cacheOf(4, 2_000), isServing: true, watches: () => false };
  const health = healthOf([serving, other, waiting], metrics, []);
  await health.metrics();
  const lines = (await health.metrics()).split('\n');
  expect(lines).toContain('drover_cached_objects{resource="virtualmachines",cluster="default"} 7');
  expect(lines).toContain('drover_cache_behind_seconds{resource="virtualmachines",cluster="default"} 2');
  expect(lines).toContain('drover_namespace_served{namespace="shop",cluster="default"} 1');
  expect(lines).toContain('drover_namespace_served{namespace="club",cluster="default"} 0');
  for (const line of lines.filter((one) => /^[^#]/.test(one))) expect(line).toContain('cluster="default"');
});

const watchesShop = (namespace: string | undefined): boolean => namespace === 'shop';

test('a worker that watches one shard reports the objects of its namespaces alone', async () => {
  const vms = ['shop', 'bank'].map((namespace) => ({ namespace, owner: null, restartRequired: {} }));
  const cache = Object.assign(cacheOf(2), { vms: { values: () => vms } });
  const text = await healthOf(
    [{ ...serving, namespace: undefined, cache, watches: watchesShop }],
    createMetrics('default'),
    [],
  ).metrics();
  const told = text.split('\n').filter((line) => line.startsWith('drover_vms_restart_required{'));
  expect(told).toEqual([expect.stringContaining('namespace="shop"')]);
});
