import { beforeAll, expect, test } from 'vitest';
import type { NodeReportItem } from '../../../clients/drain/node-report.ts';
import { crashTest } from '../../soak.ts';
import { aFleet, until, type TestWorker } from '../fleet.ts';
import { run } from '../membership/commands.ts';
import { TestDrain } from './drains.ts';

const fleet = aFleet();
let worker: TestWorker;
beforeAll(async () => {
  worker = await fleet().worker();
});

crashTest('drains')('VMs leave two nodes within the budget of their pool, though the worker is killed', async () => {
  const drain = await TestDrain.in(fleet());
  const [first, second, third] = await drain.nodes();
  await drain.pool('web', { replicas: 6, maxUnavailable: 2 }, { 'sim.drover.dev/migration-time': '1s' });
  const before = new Map((await drain.vmis('web')).map(({ metadata, status }) => [metadata.uid, status?.nodeName]));
  const watch = drain.watch(6);
  await Promise.all([drain.drain(first), drain.drain(second)]);
  await until(async () =>
    expect((await drain.vmis('web')).some(({ status }) => status?.migrationState !== undefined)).toBe(true),
  );
  await worker.kill();
  worker = await fleet().startWorker();
  await drain.left('web', 6, first, second);
  // How many are moved at once within the budget depends on how fast the machine is.
  expect([1, 2]).toContain(watch.most());
  const after = await drain.vmis('web');
  expect(after.map(({ metadata }) => metadata.uid).sort()).toEqual([...before.keys()].sort());
  for (const { metadata } of after) {
    const moved = before.get(metadata.uid) === third ? {} : { 1: 'Succeeded' };
    await until(async () => expect(await drain.migrations(metadata.name)).toEqual(moved));
  }
});

test('VMs that cannot migrate, or not in time, are restarted; the others are tried again', async () => {
  const drain = await TestDrain.in(fleet());
  const [first, second] = await drain.nodes();
  await Promise.all([first, second].map((node) => drain.cordon(node)));
  const fails = { 'sim.drover.dev/migration-fails': 'true', 'sim.drover.dev/migration-time': '200ms' };
  await Promise.all([
    drain.pool('fixed', {}, { 'sim.drover.dev/not-migratable': 'true' }),
    drain.pool('late', { drain: { deadlineSeconds: 3 } }, fails),
    drain.pool('again', {}, fails),
  ]);
  await Promise.all([first, second].map((node) => drain.uncordon(node)));
  const before = await drain.uids();
  await Promise.all(['fixed-1', 'late-1', 'again-1'].map((vm) => drain.evict(vm)));
  await until(async () => expect(await drain.migrations('again-1')).toEqual({ 1: 'Failed' }));
  await drain.annotate('again-1', { 'sim.drover.dev/migration-fails': null });
  await Promise.all(['fixed', 'late', 'again'].map((pool) => drain.left(pool, 1)));
  const after = await drain.uids();
  expect(after['fixed-1']).not.toBe(before['fixed-1']);
  expect(after['late-1']).not.toBe(before['late-1']);
  expect(after['again-1']).toBe(before['again-1']);
  expect(await drain.migrations('again-1')).toEqual({ 1: 'Failed', 2: 'Succeeded' });
});

test('a VM whose pod is to be evicted restarts, and no other', async () => {
  const drain = await TestDrain.in(fleet());
  await drain.pool('web', { replicas: 2, drain: { method: 'Restart' } });
  const before = await drain.uids();
  await drain.evict('web-1');
  await until(async () => expect((await drain.uids())['web-1']).not.toBe(before['web-1']));
  await drain.left('web', 2);
  expect((await drain.uids())['web-2']).toBe(before['web-2']);
  const told = (await drain.events()).map(({ regarding, reason }) => `${regarding.name} ${reason}`);
  expect(told.filter((event) => event.endsWith('Evacuating'))).toEqual(['web-1 Evacuating']);
});

test('a VM waits for a window, and for nothing once its eviction was cancelled', async () => {
  const drain = await TestDrain.in(fleet());
  await drain.pool('web', { replicas: 2, drain: { windows: [{ cron: '0 0 29 2 *', duration: '1h' }] } });
  const reason = async () => (await fleet().condition(drain.namespace, 'web', 'Draining'))?.reason;
  await drain.evict('web-1');
  await until(async () => expect(await reason()).toBe('WaitingForWindow'));
  const node = await drain.nodeOf('web-1');
  const status = (...args: string[]) => run(fleet(), drain.namespace, 'drain', 'status', ...args);
  const { stdout } = await status(node, '-o', 'json');
  const { items } = JSON.parse(stdout) as { items: NodeReportItem[] };
  expect(items.filter(({ namespace }) => namespace === drain.namespace)).toMatchObject([
    {
      namespace: drain.namespace,
      name: 'web-1',
      owner: 'VirtualMachinePool/web',
      state: 'Window',
      message: expect.stringMatching(/^waits: the next window opens at 20/) as string,
    },
  ]);
  expect((await status(node)).stdout).toMatch(/web-1 +VirtualMachinePool\/web +Window +waits: the next window/);
  expect(await status('nowhere')).toMatchObject({ code: 1, stderr: 'error: there is no node nowhere\n' });
  await drain.uncordon(node);
  await until(async () => expect(await reason()).toBe('Waiting'));
  expect((await status(node)).stdout).toMatch(
    /web-1 .* Waiting +waits: its evacuation from .* was requested, but the node is not drained/,
  );
  await drain.cancel('web-1');
  await until(async () => expect(await reason()).toBeUndefined());
  expect(await drain.migrations('web-1')).toEqual({});
  await drain.evict('web-1');
  await until(async () => expect(await reason()).toBe('WaitingForWindow'));
  await fleet().patchPool(drain.namespace, 'web', { drain: { windows: [] } });
  await drain.left('web', 2);
  await until(async () => expect(await drain.migrations('web-1')).toEqual({ 1: 'Succeeded' }));
});
