import { beforeAll, expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { crashTest } from '../../soak.ts';
import { aFleet, namesUpTo, runningTemplate, until, type TestWorker } from '../fleet.ts';
import { each, TestVms, type Shape } from './vms.ts';

const fleet = aFleet();
let worker: TestWorker;
beforeAll(async () => {
  worker = await fleet().worker();
});

test('VMs of every run strategy are stopped and started again, each as KubeVirt does it', async () => {
  const shapes = {
    a: {},
    h: { runStrategy: 'Halted' },
    m: { runStrategy: 'Manual' },
    o: { runStrategy: 'Once' },
    r: { runStrategy: 'RerunOnFailure' },
    exempt: { vm: { 'drover.dev/do-not-disrupt': 'true' } },
  };
  const names = Object.keys(shapes);
  const vms = await TestVms.of(fleet(), shapes);
  const stopped = await (await vms.power('Stop', names, { atOnce: 6, reason: 'the sale is over' })).result();
  expect(stopped).toMatchObject({ phase: 'Complete', chosen: 6, failed: [], open: 0, inProgress: [] });
  expect(stopped.done).toBe(4);
  expect(stopped.skipped).toMatchObject([{ vms: [vms.key('exempt')], isExcluded: true }]);
  // A VMI that has ended stays for a moment.
  await until(async () => expect(Object.keys(await vms.vmis())).toEqual(['exempt']));
  expect(await vms.strategies(names)).toEqual(['Halted', 'Halted', 'Manual', 'Halted', 'RerunOnFailure', 'Always']);
  expect(await vms.events()).toEqual(
    ['a', 'm', 'o', 'r'].map((name) => `VirtualMachine ${name}: Stopped, requested by ada: the sale is over`),
  );

  const started = await (await vms.power('Start', names, { atOnce: 2 })).result();
  expect(started).toMatchObject({ phase: 'Complete', failed: [], open: 0, skipped: [] });
  expect(started.done).toBe(5);
  expect(await vms.strategies(names)).toEqual(['Always', 'Always', 'Manual', 'Always', 'RerunOnFailure', 'Always']);
  await vms.ready(names);
  expect(vms.watch.log.mostUnavailable()).toBeLessThanOrEqual(2);
});

const VMS = 8;

crashTest('starts')(
  'a worker that is killed in the middle of a start starts none twice, and never more at once',
  async () => {
    const vms = await TestVms.of(fleet(), each(namesUpTo('vm', VMS), { runStrategy: 'Halted' }));
    const names = namesUpTo('vm', VMS);
    const run = await vms.power('Start', names, { atOnce: 2 });
    await until(async () => expect((await run.progress()).done).toBeGreaterThanOrEqual(2));
    await worker.kill();
    worker = await fleet().startWorker();
    const result = await run.result();
    expect(result).toMatchObject({ phase: 'Complete', failed: [], open: 0 });
    expect(result.done).toBe(names.length);
    expect(await vms.restarts()).toEqual(each(names, 1));
    expect(vms.watch.log.mostUnavailable()).toBe(2);
  },
);

const nameOf = (key: string): string => key.slice(key.indexOf('/') + 1);
const slowToBoot = (bootTime: string): Shape => ({
  runStrategy: 'Halted',
  vmi: { 'sim.drover.dev/boot-time': bootTime },
});

test("a user's changes meanwhile stay, and a pause, a failure and an abort leave the others as they are", async () => {
  // Each boots until a user stops it: the first is seen alone, however late the test looks.
  const names = namesUpTo('vm', 12);
  const vms = await TestVms.of(fleet(), each(names, slowToBoot('10m')));
  const run = await vms.power('Start', names);
  await run.until({ inProgress: [expect.any(String)] });
  const [first] = (await run.progress()).inProgress;
  await until(async () => expect(Object.keys(await vms.vmis())).toEqual([nameOf(first!)]));
  // So many are left that the run is not over when it is paused.
  const soon = { spec: { template: { metadata: { annotations: { 'sim.drover.dev/boot-time': '2s' } } } } };
  for (const name of names)
    await fleet().kube.patch(VirtualMachines, { namespace: vms.namespace, name }, 'merge', soon);
  await vms.virtctl(nameOf(first!), 'stop');
  await until(async () => expect((await run.progress()).done).toBeGreaterThan(0));
  await run.set({ paused: true });
  await run.until({ phase: 'Paused', inProgress: [] });
  const done = Object.keys(await vms.vmis());
  expect((await run.progress()).done).toBe(done.length);
  expect(done).not.toContain(nameOf(first!));
  // A user stops one that the run has started: it is not started again.
  await vms.virtctl(done[0]!, 'stop');
  await until(async () => expect(Object.keys(await vms.vmis())).not.toContain(done[0]));
  await run.set({ paused: false });
  await run.until({ inProgress: [expect.any(String)] });
  const [last] = (await run.progress()).inProgress;
  expect([nameOf(first!), ...done]).not.toContain(nameOf(last!));
  await run.set({ aborted: true });
  expect(await run.result()).toMatchObject({ phase: 'Aborted', inProgress: [], failed: [] });
  const left = await vms.vmis();
  expect([nameOf(first!), done[0]!].filter((name) => name in left)).toEqual([]);
});

/** A template of two cores with another run strategy. */
function otherTemplate(runStrategy: 'Always' | 'Halted', cores: number): PoolSpec['template'] {
  const template = structuredClone(runningTemplate);
  template.spec.runStrategy = runStrategy;
  const vmi = template.spec.template as { spec: { domain: object } };
  vmi.spec.domain = { devices: {}, cpu: { cores }, memory: { guest: '64Mi' } };
  return template;
}

test.each(['Always', 'Halted'] as const)(
  'a rollout of a pool whose template says %s keeps started VMs started and stopped VMs stopped',
  async (runStrategy) => {
    const vms = await TestVms.empty(fleet());
    const { namespace } = vms;
    const names = namesUpTo('web', 3);
    await fleet().createPool(namespace, 'web', {
      replicas: 3,
      maxUnavailable: 3,
      template: otherTemplate(runStrategy, 1),
    });
    await fleet().settled(namespace, 'web', names);
    if (runStrategy === 'Always') await vms.ready(names);
    const [action, wanted] = runStrategy === 'Always' ? (['Stop', 'Halted'] as const) : (['Start', 'Always'] as const);
    const run = await vms.power(action, ['web-1', 'web-2'], { atOnce: 2 });
    expect(await run.result()).toMatchObject({ phase: 'Complete', done: 2 });
    const next = otherTemplate(runStrategy, 2);
    await fleet().patchPool(namespace, 'web', { template: next });
    await until(async () =>
      expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({
        updatedReplicas: 3,
        currentRevision: revisionOf(next),
        readyReplicas: runStrategy === 'Always' ? 1 : 2,
      }),
    );
    expect(await vms.strategies(names)).toEqual([wanted, wanted, runStrategy]);
    expect(Object.keys(await vms.vmis())).toEqual(runStrategy === 'Always' ? ['web-3'] : ['web-1', 'web-2']);
    // KubeVirt takes no notice of the spec of a VM that is stopped: that must not keep a start waiting.
    const all = await (await vms.power('Start', names, { atOnce: 3, deadlineMs: 10_000 })).result();
    expect(all).toMatchObject({ phase: 'Complete', open: 0, failed: [] });
    expect(Object.keys(await vms.vmis())).toEqual(names);
  },
);
