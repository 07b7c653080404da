import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterCache } from '../activities/cache/cluster-cache.ts';
import { snapshotOf } from '../activities/cache/snapshot.ts';
import { BudgetTallies } from '../activities/disruption-budget/budget-tallies.ts';
import { containedPlan } from '../decisions/pool/contained-plan.ts';
import { isInPortion } from '../decisions/shards/portion.ts';
import { KubeClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/config.ts';
import { createMetrics } from '../workers/metrics/metrics.ts';
import { startCacheServer } from './lib/cache-server.ts';
import { median } from './lib/measure.ts';

/**
 * Measures what a worker keeps of a large fleet, or of its first shard: `node bench/cache.ts [VMS] [POOLS] [BUDGETS]
 * [SHARDS]`. A server without a cluster behind it answers lists and watches with running VMs of realistic size; the
 * worker's own cache, planner and metrics, without Temporal, read them in a process with the garbage collector at hand.
 */
const [VMS = 200_000, POOLS = 1_000, BUDGETS = 100, SHARDS = 1] = process.argv.slice(2).map(Number);
const EVENTS = 5_000;
const PLANS = 50;
const MIB = 2 ** 20;
/** In MiB. */
const HEAP = 12_288;

const mib = (bytes: number): string => `${Math.round(bytes / MIB).toLocaleString('en')} MiB`;

async function serve(): Promise<void> {
  const server = await startCacheServer({ vms: VMS, pools: POOLS, budgets: BUDGETS });
  const child = fork(import.meta.filename, [VMS, POOLS, BUDGETS, SHARDS].map(String), {
    env: { ...process.env, CACHE_SERVER: server.url },
    execArgv: ['--expose-gc', `--max-old-space-size=${HEAP}`],
  });
  child.on('message', (count: number) => void server.change(count).then((version) => child.send(version)));
  const [code] = (await once(child, 'exit')) as [number | null];
  server.close();
  process.exitCode = code ?? 1;
}

const named = (key: string, value: object) => [{ name: 'bench', [key]: value }];

function kubeconfigOf(server: string, folder: string): string {
  const path = join(folder, 'kubeconfig');
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'bench',
      clusters: named('cluster', { server, 'insecure-skip-tls-verify': true }),
      users: named('user', {}),
      contexts: named('context', { cluster: 'bench', user: 'bench' }),
    }),
  );
  return path;
}

/** Milliseconds of CPU and of time. */
async function timed(act: () => unknown): Promise<{ cpu: number; time: number }> {
  const [before, start] = [process.cpuUsage(), performance.now()];
  await act();
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1000, time: performance.now() - start };
}

const kept = (): number => {
  globalThis.gc!();
  return process.memoryUsage().heapUsed;
};

async function measure(server: string, folder: string): Promise<void> {
  const client = new KubeClient(loadKubeConfig({ kubeconfig: kubeconfigOf(server, folder) }));
  const keeps = (namespace: string): boolean => isInPortion({ shards: SHARDS, shard: 0 }, namespace);
  const shard = SHARDS === 1 ? {} : { keeps, takes: keeps };
  const cache = new ClusterCache({
    client,
    ...shard,
    onError: (resource, error) => console.error(resource, error.message),
  });
  const empty = kept();
  const lists = await timed(() => cache.start());
  const heap = kept() - empty;
  const peak = process.resourceUsage().maxRSS * 1024;
  console.log(
    `${VMS} running VMs in ${POOLS} pools, of which ${cache.vms.size} in shard 0 of ${SHARDS}: lists in ${(lists.time / 1000).toFixed(1)} s with ${(lists.cpu / 1000).toFixed(1)} s of CPU; ` +
      `${mib(heap)} of heap, ${(((heap / cache.vms.size) * 1000) / MIB).toFixed(1)} MiB for 1,000 VMs; ${mib(peak)} resident at most`,
  );

  const events = async (): Promise<void> => {
    process.send!(EVENTS);
    const [version] = (await once(process, 'message')) as [string];
    if (!(await cache.vmis.reached(BigInt(version), 60_000))) throw new Error('the watch did not report all changes');
  };
  const each = async (act: () => Promise<void>): Promise<string> => {
    const { cpu } = await timed(act);
    return `${((cpu * 1000) / EVENTS).toFixed(0)} µs of CPU`;
  };
  console.log(`an event of a VMI: ${await each(events)}`);
  await measureBudgets(cache, events, each);

  const idle = { inProgress: { creating: [], deleting: [] }, backoffs: {}, burst: 250 };
  const ofPool = { ...idle, batches: [], batchesNotBefore: 0, now: Date.now() };
  const times: number[] = [];
  const planned = [...cache.pools.values()];
  for (let count = 0; count < PLANS; count++) {
    const pool = planned[count % planned.length]!;
    times.push((await timed(() => containedPlan({ ...snapshotOf(cache, pool), ...ofPool }))).cpu);
  }
  console.log(`a plan of a pool of ${VMS / POOLS} VMs: ${median(times).toFixed(1)} ms of CPU`);

  const { registry, pools } = createMetrics('bench');
  let text = '';
  const scrape = await timed(async () => {
    pools.look(cache.pools.values());
    text = await registry.metrics();
  });
  console.log(`a scrape: ${scrape.cpu.toFixed(0)} ms of CPU, ${(text.length / MIB).toFixed(1)} MiB`);
  await cache.stop();
  await client.close();
}

/** Measures an event of a VMI without budgets, and with those that select its VM among others, which count anew. */
async function measureBudgets(
  cache: ClusterCache,
  events: () => Promise<void>,
  each: (act: () => Promise<void>) => Promise<string>,
): Promise<void> {
  const without = await each(events);
  const before = kept();
  const tallies = new BudgetTallies(cache);
  const count = (): number =>
    [...tallies.index.values()].reduce((sum, budget) => sum + tallies.tally(budget).total.available, 0);
  const made = await timed(count);
  const words = `${BUDGETS} budgets over ${Math.round((VMS / POOLS) * BUDGETS)} VMs`;
  console.log(`${words} counted: ${made.cpu.toFixed(0)} ms of CPU; ${mib(kept() - before)} of heap`);
  const with_ = await each(async () => {
    await events();
    count();
  });
  console.log(`an event of a VMI: ${without} without budgets, ${with_} with them`);
}

const { CACHE_SERVER } = process.env;
if (CACHE_SERVER === undefined) await serve();
else {
  const folder = mkdtempSync(join(tmpdir(), 'drover-bench-'));
  await measure(CACHE_SERVER, folder).finally(() => rmSync(folder, { recursive: true }));
  process.disconnect();
}
