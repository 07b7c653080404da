import { beforeAll, expect, test } from 'vitest';
import { VirtualMachines } from '../../../api/resources.ts';
import { DroverNamespaces, DroverPhase } from '../../../workflows/lib/search-attributes.ts';
import { crashTest, soak } from '../../soak.ts';
import { aFleet, namesUpTo, neverReady, until, type TestWorker } from '../fleet.ts';
import { untilContinuedAsNew } from '../long-history.ts';
import { HeldVmis } from './held-vmis.ts';
import { each, TestVms, type Shape } from './vms.ts';

const fleet = aFleet();
let worker: TestWorker;
beforeAll(async () => {
  worker = await fleet().worker();
});

const inOrder = (counts: Record<string, number>): number[] => Object.values(counts).toSorted((a, b) => a - b);
test('VMs of every run strategy are restarted once, two at a time, and keep their strategy', async () => {
  const shapes = {
    ...each(['a-1', 'a-2', 'a-3', 'a-4'], {}),
    ...each(['o-1', 'o-2'], { runStrategy: 'Once' }),
    ...each(['m-1', 'm-2'], { runStrategy: 'Manual' }),
    ...each(['r-1', 'r-2'], { runStrategy: 'RerunOnFailure' }),
  };
  const vms = await TestVms.of(fleet(), shapes);
  const before = await vms.vmis();
  const restart = await vms.restart({ atOnce: 2, reason: 'leaks' });
  const names = Object.keys(shapes).sort();
  const result = await restart.result();
  expect(result).toMatchObject({ phase: 'Complete', chosen: 10, failed: [], open: 0, inProgress: [], skipped: [] });
  expect(result.done).toBe(names.length);
  const after = await vms.vmis();
  expect(Object.keys(after).sort()).toEqual(names);
  expect(names.filter((name) => after[name] === before[name])).toEqual([]);
  expect(await vms.restarts()).toEqual(each(names, 1));
  expect(vms.watch.log.mostUnavailable()).toBeLessThanOrEqual(2);
  const strategies = names.map((name) => (shapes[name as keyof typeof shapes] as Shape).runStrategy ?? 'Always');
  expect(await vms.strategies(names)).toEqual(strategies);
  expect(await vms.events()).toEqual(
    names.map((name) => `VirtualMachine ${name}: Restarted within a disruption budget, requested by ada: leaks`),
  );
});

const VMS = soak(12, 8);

crashTest('restarts')(
  'VMs of a pool keep within its own maxUnavailable, and a worker that is killed restarts none twice',
  async () => {
    const vms = await TestVms.ofPool(fleet(), { replicas: VMS, maxUnavailable: 2 });
    const names = namesUpTo('web', VMS);
    const restart = await vms.restart({ atOnce: VMS });
    for (const moment of soak([1, 5, 9], [3])) {
      await until(async () => {
        const restarted = Object.values(await vms.restarts()).filter((count) => count > 0);
        expect(restarted.length).toBeGreaterThanOrEqual(moment);
      });
      await worker.kill();
      worker = await fleet().startWorker();
    }
    const result = await restart.result();
    expect(result).toMatchObject({ phase: 'Complete', failed: [], open: 0 });
    expect(result.done).toBe(VMS);
    expect(await vms.restarts()).toEqual(each(names, 1));
    expect(vms.watch.log.mostUnavailable()).toBe(2);
  },
);

test('two restarts at once over the same VMs restart none twice, and keep within one budget', async () => {
  const names = namesUpTo('vm', 6);
  const vms = await TestVms.of(fleet(), each(names, {}));
  const vmis = { chosen: { [vms.namespace]: await vms.vmis() }, atOnce: 2 };
  const results = await Promise.all(
    (await Promise.all([vms.restart(vmis), vms.restart(vmis)])).map((restart) => restart.result()),
  );
  expect(results).toMatchObject([
    { phase: 'Complete', failed: [], open: 0 },
    { phase: 'Complete', failed: [], open: 0 },
  ]);
  // Both may have worked on the same VM: the second has only seen it come back.
  expect(results[0]!.done + results[1]!.done).toBeGreaterThanOrEqual(names.length);
  expect(await vms.restarts()).toEqual(each(names, 1));
  expect(vms.watch.log.mostUnavailable()).toBeLessThanOrEqual(2);
  expect(await (await vms.restart(vmis)).result()).toMatchObject({
    phase: 'Complete',
    chosen: 6,
    done: 0,
    open: 0,
  });
});

test('a cancellation in Temporal changes nothing', async () => {
  const names = namesUpTo('vm', 3);
  const vms = await TestVms.of(fleet(), each(names, {}));
  const vmis = await HeldVmis.of(fleet(), vms.namespace);
  const restart = await vms.restart();
  await vmis.next();
  await restart.handle.cancel();
  await vmis.letGo();
  expect(await restart.result()).toMatchObject({ phase: 'Complete', inProgress: [], open: 0 });
  expect(await vms.restarts()).toEqual(each(names, 1));
});

test('a run with a long history continues in a new one, even with a VM in progress', async () => {
  const names = namesUpTo('vm', 3);
  const vms = await TestVms.of(fleet(), each(names, {}));
  for (const name of names)
    await fleet().kube.patch(VirtualMachines, { namespace: vms.namespace, name }, 'merge', neverReady);
  const restart = await vms.restart({ reason: 'leaks' });
  await restart.until({ inProgress: [expect.any(String)] });
  const [inProgress] = (await restart.progress()).inProgress;
  await restart.set({ paused: true });
  await untilContinuedAsNew(restart.handle);
  await fleet().letBecomeReady(inProgress!);
  await restart.until({
    phase: 'Paused',
    chosen: 3,
    inProgress: [],
    done: 1,
    paused: { by: 'its operation' },
    reason: 'leaks',
  });
  const { typedSearchAttributes } = await restart.handle.describe();
  expect(typedSearchAttributes.get(DroverPhase)).toBe('Paused');
  expect(typedSearchAttributes.get(DroverNamespaces)).toEqual([vms.namespace]);
  await restart.set({ aborted: true });
  expect(await restart.result()).toMatchObject({ phase: 'Aborted', done: 1, open: 2 });
  expect(inOrder(await vms.restarts())).toEqual([0, 0, 1]);
});
