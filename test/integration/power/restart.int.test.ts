import { beforeAll, expect, test } from 'vitest';
import { POWER_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { DroverNamespaces, DroverPhase } from '../../../workflows/lib/search-attributes.ts';
import { crashTest, soak, testOneOf } from '../../soak.ts';
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
  expect(result.done.sort()).toEqual(names.map((name) => vms.key(name)));
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
    expect(result.done.length).toBe(VMS);
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
  expect([...new Set(results.flatMap(({ done }) => done))].sort()).toEqual(names.map((name) => vms.key(name)));
  expect(await vms.restarts()).toEqual(each(names, 1));
  expect(vms.watch.log.mostUnavailable()).toBeLessThanOrEqual(2);
  expect(await (await vms.restart(vmis)).result()).toMatchObject({
    phase: 'Complete',
    chosen: 6,
    done: [],
    open: 0,
  });
});

testOneOf({
  'a user pauses, resumes and aborts the run, and VMs that already restart come back': async () => {
    const names = namesUpTo('vm', 6);
    const vms = await TestVms.of(fleet(), each(names, {}));
    const vmis = await HeldVmis.of(fleet(), vms.namespace);
    const restart = await vms.restart();
    const name = await vmis.next();
    const first = vms.key(name);
    await restart.set({ paused: true });
    await restart.until({ phase: 'Paused', inProgress: [first], done: [], paused: { reason: 'spec.paused is true' } });
    await vmis.letGo(name);
    await restart.until({ phase: 'Paused', inProgress: [], done: [first] });
    expect(inOrder(await vms.restarts())).toEqual([0, 0, 0, 0, 0, 1]);
    // Nothing happens meanwhile, not even history events, once the workflow task that answered the query is recorded.
    await until(async () => {
      const { historyLength } = await restart.handle.describe();
      await new Promise((resolve) => void setTimeout(resolve, 1_000));
      expect((await restart.handle.describe()).historyLength).toBe(historyLength);
    });
    await restart.set({ paused: false });
    const second = vms.key(await vmis.next());
    await restart.until({ phase: 'Restarting', inProgress: [second] });
    await restart.set({ aborted: true });
    await restart.until({ aborted: { reason: 'spec.aborted is true' } });
    await vmis.letGo();
    expect(await restart.result()).toMatchObject({
      phase: 'Aborted',
      inProgress: [],
      done: [first, second],
      aborted: { by: 'its operation', reason: 'spec.aborted is true' },
    });
    expect(inOrder(await vms.restarts())).toEqual([0, 0, 0, 0, 1, 1]);
  },
  'a cancellation in Temporal changes nothing': async () => {
    const names = namesUpTo('vm', 3);
    const vms = await TestVms.of(fleet(), each(names, {}));
    const vmis = await HeldVmis.of(fleet(), vms.namespace);
    const restart = await vms.restart();
    await vmis.next();
    await restart.handle.cancel();
    await vmis.letGo();
    expect(await restart.result()).toMatchObject({ phase: 'Complete', inProgress: [], open: 0 });
    expect(await vms.restarts()).toEqual(each(names, 1));
  },
});

testOneOf({
  'a run with a long history continues in a new one, even with a VM in progress': async () => {
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
      done: [expect.any(String)],
      paused: { by: 'its operation' },
      reason: 'leaks',
    });
    const { typedSearchAttributes } = await restart.handle.describe();
    expect(typedSearchAttributes.get(DroverPhase)).toBe('Paused');
    expect(typedSearchAttributes.get(DroverNamespaces)).toEqual([vms.namespace]);
    await restart.set({ aborted: true });
    expect(await restart.result()).toMatchObject({ phase: 'Aborted', done: [expect.any(String)], open: 2 });
    expect(inOrder(await vms.restarts())).toEqual([0, 0, 1]);
  },
  'a run continues with the state that the last one has handed to it': async () => {
    const names = namesUpTo('vm', 3);
    const vms = await TestVms.of(fleet(), each(names, {}));
    const vmis = await vms.vmis();
    // The previous run restarted one VM and was in the middle of the next.
    await fleet().kube.delete(
      VirtualMachineInstances,
      { namespace: vms.namespace, name: 'vm-2' },
      { uid: vmis['vm-2']! },
    );
    const before = {
      inProgress: [{ vm: vms.key('vm-2'), since: Date.now() }],
      done: [vms.key('vm-1')],
      gone: [],
      failed: [],
      open: 1,
      skipped: [],
      full: [],
      needs: {},
      excluded: [],
      paused: null,
      aborted: null,
    };
    const carried = {
      ...before,
      digest: null,
      idledMs: 0,
      watchedSince: Date.now(),
      minVersions: {},
      namespaces: [],
    };
    const chosen = { [vms.namespace]: { ...vmis, 'vm-1': 'the VMI that it had' } };
    const run = await vms.restart({ chosen, carried }, (by) => {
      const note = { by, since: Date.now(), vmi: vmis['vm-2'], generation: 1, notReadySince: null };
      return fleet().kube.patch(VirtualMachines, { namespace: vms.namespace, name: 'vm-2' }, 'merge', {
        metadata: { annotations: { [POWER_ANNOTATION]: JSON.stringify(note) } },
      });
    });
    const result = await run.result();
    expect(result).toMatchObject({
      phase: 'Complete',
      done: ['vm-1', 'vm-2', 'vm-3'].map((name) => vms.key(name)),
      open: 0,
    });
    expect(await vms.restarts()).toEqual({ 'vm-1': 0, 'vm-2': 1, 'vm-3': 1 });
  },
});
