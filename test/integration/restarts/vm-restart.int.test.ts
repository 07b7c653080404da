import type { WorkflowHandle } from '@temporalio/client';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { EVENT_REPORTER } from '../../../api/names.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { Events, VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/revisions/hash.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../../simulator/types.ts';
import {
  abort,
  pause,
  restartIdOf,
  restartProgress,
  resume,
  taskQueueOf,
  type RestartProgress,
} from '../../../workflows/messages.ts';
import type { RestartVmsInput } from '../../../workflows/restarts/restart-vms.ts';
import { DroverPhase } from '../../../workflows/search-attributes.ts';
import { soak, soakTest } from '../../soak.ts';
import { aFleet, namesUpTo, neverReady, runningTemplate, until, type TestWorker } from '../fleet.ts';
import { ReadinessWatch } from '../readiness-watch.ts';

const fleet = aFleet({ workers: 0 });
let worker: TestWorker;
beforeAll(async () => {
  worker = await fleet().startWorker();
});

type Vm = Stored<VirtualMachine & KubeObject>;
type Event = KubeObject & { note: string; reportingController: string; regarding: { kind: string; name: string } };
type Vmi = Stored<VirtualMachineInstance & KubeObject>;

interface Shape {
  runStrategy?: string;
  vm?: Record<string, string>;
  vmi?: Record<string, string>;
}

/** VMs in a namespace of their own, an independent watch of them, and what tests do to them. */
class RestartedVms {
  readonly namespace: string;
  readonly watch: ReadinessWatch;

  private constructor(namespace: string, watch: ReadinessWatch) {
    this.namespace = namespace;
    this.watch = watch;
  }

  static async empty(): Promise<RestartedVms> {
    const namespace = await fleet().namespace();
    const watch = await ReadinessWatch.start(fleet().kube, namespace);
    onTestFinished(() => watch.stop());
    return new RestartedVms(namespace, watch);
  }

  /** Creates VMs without an owner; resolves when those that are meant to run are ready. */
  static async of(shapes: Record<string, Shape>): Promise<RestartedVms> {
    const vms = await RestartedVms.empty();
    for (const [name, { runStrategy = 'Always', vm = {}, vmi = {} }] of Object.entries(shapes)) {
      const annotations = { 'sim.drover.dev/boot-time': '300ms', 'sim.drover.dev/stop-time': '100ms', ...vmi };
      const spec = {
        runStrategy,
        template: { metadata: { annotations }, spec: { domain: { devices: {}, memory: { guest: '64Mi' } } } },
      };
      await fleet().kube.create(VirtualMachines, {
        metadata: { namespace: vms.namespace, name, annotations: vm },
        spec,
      });
      if (runStrategy === 'Manual') await vms.power(name, 'start');
    }
    await vms.ready(Object.keys(shapes).filter((name) => shapes[name]!.runStrategy !== 'Halted'));
    await vms.watch.startRecording();
    return vms;
  }

  /** Creates a pool named `web`; resolves when its VMs are ready. */
  static async ofPool(spec: Partial<PoolSpec>): Promise<RestartedVms> {
    const vms = await RestartedVms.empty();
    const { replicas = 3 } = spec;
    await fleet().createPool(vms.namespace, 'web', { template: runningTemplate, ...spec, replicas });
    await vms.ready(namesUpTo('web', replicas));
    await until(async () => {
      const { status } = (await fleet().pool(vms.namespace, 'web'))!;
      expect(status?.conditions?.find(({ type }) => type === 'Progressing')?.reason).toBe('Complete');
    });
    await vms.watch.startRecording();
    return vms;
  }

  async ready(names: string[]): Promise<void> {
    await until(async () => {
      const { items } = await fleet().kube.list<Vm>(VirtualMachines, { namespace: this.namespace });
      expect(items.filter(({ status }) => status?.ready).map(({ metadata }) => metadata.name)).toEqual(
        expect.arrayContaining(names),
      );
    });
  }

  vm(name: string): Promise<Vm> {
    return fleet().kube.get<Vm>(VirtualMachines, { namespace: this.namespace, name });
  }

  async vmis(): Promise<Record<string, string>> {
    const { items } = await fleet().kube.list<Vmi>(VirtualMachineInstances, { namespace: this.namespace });
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.uid]));
  }

  async power(name: string, verb: 'start' | 'stop'): Promise<void> {
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${this.namespace}/virtualmachines/${name}/${verb}`;
    await fleet().kube.request({ method: 'PUT', path, body: {} });
  }

  async vmiPower(name: string, verb: 'pause' | 'unpause'): Promise<void> {
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${this.namespace}/virtualmachineinstances/${name}/${verb}`;
    await fleet().kube.request({ method: 'PUT', path, body: {} });
  }

  key(name: string): string {
    return `${this.namespace}/${name}`;
  }

  /** Starts a restart of all existing VMIs. */
  async restart(options: Partial<RestartVmsInput> = {}): Promise<Restart> {
    const id = restartIdOf('default', `t${Math.random().toString(36).slice(2, 9)}`);
    const chosen = { [this.namespace]: await this.vmis() };
    const input: RestartVmsInput = {
      chosen,
      maxUnavailable: 1,
      maxFailures: 0,
      deadlineMs: 60_000,
      askedBy: 'ada',
      reason: null,
      ...options,
    };
    const handle = await fleet().temporal.client.workflow.start('restartVms', {
      workflowId: id,
      taskQueue: taskQueueOf('default'),
      args: [input],
    });
    return new Restart(handle);
  }

  /** Returns how often each VM was restarted, by name. */
  async restarts(): Promise<Record<string, number>> {
    await this.watch.caughtUp();
    expect(this.watch.gaps).toEqual([]);
    return Object.fromEntries(this.watch.log.names().map((name) => [name, this.watch.log.restartsOf(name).length]));
  }
}

class Restart {
  readonly handle: WorkflowHandle;

  constructor(handle: WorkflowHandle) {
    this.handle = handle;
  }

  result(): Promise<RestartProgress> {
    return this.handle.result() as Promise<RestartProgress>;
  }

  progress(): Promise<RestartProgress> {
    return this.handle.query(restartProgress);
  }

  async until(wanted: object): Promise<void> {
    await until(async () => expect(await this.progress()).toMatchObject(wanted));
  }
}

const inOrder = (counts: Record<string, number>): number[] =>
  Object.values(counts).toSorted((one, other) => one - other);
const each = <T>(names: string[], value: T): Record<string, T> =>
  Object.fromEntries(names.map((name) => [name, value]));

test('VMs of every run strategy are restarted once, two at a time, and keep their strategy', async () => {
  const shapes = {
    ...each(['a-1', 'a-2', 'a-3', 'a-4'], {}),
    ...each(['o-1', 'o-2'], { runStrategy: 'Once' }),
    ...each(['m-1', 'm-2'], { runStrategy: 'Manual' }),
    ...each(['r-1', 'r-2'], { runStrategy: 'RerunOnFailure' }),
  };
  const vms = await RestartedVms.of(shapes);
  const before = await vms.vmis();
  const restart = await vms.restart({ maxUnavailable: 2, reason: 'leaks' });
  const names = Object.keys(shapes).sort();
  const result = await restart.result();
  expect(result).toMatchObject({ phase: 'Complete', chosen: 10, failed: [], open: 0, inProgress: [], skipped: [] });
  expect(result.restarted.sort()).toEqual(names.map((name) => vms.key(name)));
  const after = await vms.vmis();
  expect(Object.keys(after).sort()).toEqual(names);
  expect(names.filter((name) => after[name] === before[name])).toEqual([]);
  expect(await vms.restarts()).toEqual(each(names, 1));
  expect(vms.watch.log.mostUnavailable()).toBeLessThanOrEqual(2);
  const strategies = names.map((name) => (shapes[name as keyof typeof shapes] as Shape).runStrategy ?? 'Always');
  expect((await Promise.all(names.map((name) => vms.vm(name)))).map(({ spec }) => spec.runStrategy)).toEqual(
    strategies,
  );
  const { items } = await fleet().kube.list<Event>(Events, { namespace: vms.namespace });
  const ours = items.filter(({ reportingController }) => reportingController === EVENT_REPORTER);
  expect(ours.map(({ note, regarding: { kind, name } }) => `${kind} ${name}: ${note}`).sort()).toEqual(
    names.map((name) => `VirtualMachine ${name}: Restarted within a budget, asked for by ada: leaks`),
  );
});

const VMS = soak(12, 8);

test('VMs of a pool keep within its own maxUnavailable, and a worker that is killed restarts none twice', async () => {
  const vms = await RestartedVms.ofPool({ replicas: VMS, maxUnavailable: 2 });
  const names = namesUpTo('web', VMS);
  const restart = await vms.restart({ maxUnavailable: VMS });
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
  expect(result.restarted.length).toBe(VMS);
  expect(await vms.restarts()).toEqual(each(names, 1));
  expect(vms.watch.log.mostUnavailable()).toBe(2);
});

test('two at once over the same VMs restart none twice, and keep within one budget', async () => {
  const names = namesUpTo('vm', 6);
  const vms = await RestartedVms.of(each(names, {}));
  const vmis = { chosen: { [vms.namespace]: await vms.vmis() }, maxUnavailable: 2 };
  const results = await Promise.all(
    (await Promise.all([vms.restart(vmis), vms.restart(vmis)])).map((restart) => restart.result()),
  );
  expect(results).toMatchObject([
    { phase: 'Complete', failed: [], open: 0 },
    { phase: 'Complete', failed: [], open: 0 },
  ]);
  // Both may have worked on the same VM: the second has only seen it come back.
  expect([...new Set(results.flatMap(({ restarted }) => restarted))].sort()).toEqual(
    names.map((name) => vms.key(name)),
  );
  expect(await vms.restarts()).toEqual(each(names, 1));
  expect(vms.watch.log.mostUnavailable()).toBeLessThanOrEqual(2);
  expect(await (await vms.restart(vmis)).result()).toMatchObject({
    phase: 'Complete',
    chosen: 6,
    restarted: [],
    open: 0,
  });
});

test('a VM that is not ready in time stops it, and the others are left as they are', async () => {
  const names = namesUpTo('vm', 4);
  const vms = await RestartedVms.of(each(names, {}));
  // Whichever VM is restarted first doesn't become ready.
  for (const name of names) {
    await fleet().kube.patch(VirtualMachines, { namespace: vms.namespace, name }, 'merge', neverReady);
  }
  const result = await (await vms.restart({ deadlineMs: 1_500 })).result();
  expect(result).toMatchObject({ phase: 'Failed', restarted: [], open: 3, inProgress: [] });
  expect(result.failed).toEqual([
    { vm: expect.any(String) as string, why: expect.stringContaining('not ready in time') as string, wasDown: false },
  ]);
  expect(inOrder(await vms.restarts())).toEqual([0, 0, 0, 1]);

  // Even if failures are allowed, the broken VM uses up the budget: the run gives up after the deadline without
  // progress.
  const second = await (await vms.restart({ deadlineMs: 1_500, maxFailures: 5 })).result();
  expect(second).toMatchObject({
    phase: 'Failed',
    restarted: [],
    open: 3,
    full: ['1 at a time', `${result.failed[0]!.vm} not ready`],
  });
  expect(second.failed).toMatchObject([{ vm: result.failed[0]!.vm, wasDown: true }]);
});

test("what nobody may touch is left, what can't be touched now is waited for, and what does not run is nothing to do", async () => {
  const vms = await RestartedVms.of({
    well: {},
    paused: {},
    stays: {},
    wish: { vm: { 'drover.dev/do-not-disrupt': 'true' } },
    off: { runStrategy: 'Halted' },
    stops: { runStrategy: 'Manual' },
  });
  await vms.vmiPower('paused', 'pause');
  await vms.vmiPower('stays', 'pause');
  const vmis = await vms.vmis();
  await vms.power('stops', 'stop');
  await until(async () => expect(Object.keys(await vms.vmis())).not.toContain('stops'));
  // A paused VMI is not ready: a budget of one would block everything.
  const restart = await vms.restart({ chosen: { [vms.namespace]: vmis }, maxUnavailable: 3, deadlineMs: 6_000 });
  await restart.until({ restarted: [vms.key('well')] });
  expect((await restart.progress()).skipped).toEqual(
    expect.arrayContaining([
      {
        why: 'it is paused',
        isExcluded: false,
        count: 2,
        vms: expect.arrayContaining([vms.key('paused'), vms.key('stays')]) as string[],
      },
      { why: 'its owner asked that nothing disrupts it', isExcluded: true, count: 1, vms: [vms.key('wish')] },
    ]),
  );
  await vms.vmiPower('paused', 'unpause');
  const result = await restart.result();
  expect(result).toMatchObject({ phase: 'Complete', chosen: 5, failed: [], open: 1 });
  expect(result.restarted).toEqual([vms.key('well'), vms.key('paused')]);
  expect(result.skipped.find(({ isExcluded }) => !isExcluded)).toMatchObject({
    why: 'it is paused',
    vms: [vms.key('stays')],
  });
  expect(await vms.restarts()).toEqual({ well: 1, paused: 1, stays: 0, wish: 0, off: 0, stops: 0 });
  expect((await vms.vm('off')).spec.runStrategy).toBe('Halted');
});

test('a person pauses, resumes and aborts it; what restarts already comes back', async () => {
  const names = namesUpTo('vm', 6);
  const vms = await RestartedVms.of(each(names, { vmi: { 'sim.drover.dev/boot-time': '1s' } }));
  const restart = await vms.restart();
  await restart.until({ inProgress: [expect.any(String)] });
  await restart.handle.signal(pause, { by: 'bob', why: 'lunch' });
  await restart.until({
    phase: 'Paused',
    inProgress: [],
    restarted: [expect.any(String)],
    paused: { by: 'bob', why: 'lunch' },
  });
  const { historyLength } = await restart.handle.describe();
  expect(inOrder(await vms.restarts())).toEqual([0, 0, 0, 0, 0, 1]);
  // Nothing happens meanwhile, not even history events.
  await new Promise((resolve) => void setTimeout(resolve, 1_000));
  expect((await restart.handle.describe()).historyLength).toBe(historyLength);
  await restart.handle.signal(resume);
  await restart.until({ phase: 'Restarting', inProgress: [expect.any(String)] });
  await restart.handle.signal(abort);
  expect(await restart.result()).toMatchObject({
    phase: 'Aborted',
    inProgress: [],
    aborted: { by: 'somebody', why: null },
  });
  const restarts = inOrder(await vms.restarts());
  expect(restarts.slice(0, 3)).toEqual([0, 0, 0]);
  expect(restarts.at(-1)).toBe(1);
});

test('who requests its cancellation in Temporal aborts it: what restarts already comes back', async () => {
  const vms = await RestartedVms.of(each(namesUpTo('vm', 3), { vmi: { 'sim.drover.dev/boot-time': '1s' } }));
  const restart = await vms.restart();
  await restart.until({ inProgress: [expect.any(String)] });
  await restart.handle.cancel();
  const aborted = { by: 'somebody', why: 'its cancellation was requested in Temporal' };
  expect(await restart.result()).toMatchObject({
    phase: 'Aborted',
    inProgress: [],
    restarted: [expect.any(String)],
    aborted,
  });
});

/** Returns a template whose VMIs take a while to become ready. */
function slowTemplate(): PoolSpec['template'] {
  const template = structuredClone(runningTemplate);
  Object.assign((template.spec.template as { metadata: { annotations: object } }).metadata.annotations, {
    'sim.drover.dev/boot-time': '700ms',
  });
  return template;
}

/** Returns a template that needs a restart. */
function otherTemplate(of = runningTemplate): PoolSpec['template'] {
  const template = structuredClone(of);
  (template.spec.template as { spec: object }).spec = {
    domain: { devices: {}, cpu: { cores: 2 }, memory: { guest: '64Mi' } },
  };
  return template;
}

test('VMs of a pool that is rolling out are left to its rollout', async () => {
  const vms = await RestartedVms.ofPool({ replicas: 4, maxUnavailable: 1 });
  const vmis = { chosen: { [vms.namespace]: await vms.vmis() }, maxUnavailable: 4 };
  await fleet().patchPool(vms.namespace, 'web', { template: otherTemplate() });
  // Otherwise the worker might hear of the restart before it hears of the new template.
  await until(async () =>
    expect((await fleet().pool(vms.namespace, 'web'))!.status?.updateRevision).toBe(revisionOf(otherTemplate())),
  );
  const result = await (await vms.restart(vmis)).result();
  await until(async () =>
    expect((await fleet().pool(vms.namespace, 'web'))!.status).toMatchObject({ updatedReplicas: 4, readyReplicas: 4 }),
  );
  expect(result).toMatchObject({ phase: 'Complete', restarted: [], failed: [], open: 0 });
  expect(await vms.restarts()).toEqual(each(namesUpTo('web', 4), 1));
  expect(vms.watch.log.mostUnavailable()).toBe(1);
});

soakTest("a rollout that begins in the middle of a restart, on two workers: the pool's budget holds", async () => {
  const second = await fleet().startWorker();
  onTestFinished(() => second.kill());
  const vms = await RestartedVms.ofPool({ replicas: 10, maxUnavailable: 2, template: slowTemplate() });
  const restart = await vms.restart({ maxUnavailable: 10 });
  await until(async () => expect((await restart.progress()).restarted.length).toBeGreaterThanOrEqual(3));
  await fleet().patchPool(vms.namespace, 'web', { template: otherTemplate(slowTemplate()) });
  const { restarted } = await restart.result();
  expect(restarted.length).toBeLessThan(10);
  await until(async () =>
    expect((await fleet().pool(vms.namespace, 'web'))!.status).toMatchObject({
      updatedReplicas: 10,
      readyReplicas: 10,
    }),
  );
  // Once by the rollout, and at most once before that by the restart.
  expect(Object.values(await vms.restarts()).filter((count) => count !== 1 && count !== 2)).toEqual([]);
  expect(vms.watch.log.mostUnavailable()).toBeLessThanOrEqual(2);
});

test('a history that has grown long is left behind, also with a VM in progress', async () => {
  const names = namesUpTo('vm', 3);
  const vms = await RestartedVms.of(each(names, {}));
  for (const name of names)
    await fleet().kube.patch(VirtualMachines, { namespace: vms.namespace, name }, 'merge', neverReady);
  const restart = await vms.restart({ reason: 'leaks' });
  await restart.until({ inProgress: [expect.any(String)] });
  const [inProgress] = (await restart.progress()).inProgress;
  const { runId } = await restart.handle.describe();
  // Temporal suggests continue-as-new after 4 MiB. It also does after 4,096 events, but fails a workflow task if a
  // hundred signals arrive meanwhile: a slow worker would replay them again and again, and never finish.
  for (let n = 0; n < 5; n++) await restart.handle.signal(pause, { by: 'bob', why: 'x'.repeat(1_000_000) });
  await restart.handle.signal(pause, { by: 'bob' });
  await until(async () => expect((await restart.handle.describe()).runId).not.toBe(runId));
  await fleet().letBecomeReady(inProgress!);
  await restart.until({
    phase: 'Paused',
    chosen: 3,
    inProgress: [],
    restarted: [expect.any(String)],
    paused: { by: 'bob' },
    reason: 'leaks',
  });
  const { typedSearchAttributes } = await restart.handle.describe();
  expect(typedSearchAttributes.get(DroverPhase)).toBe('Paused');
  await restart.handle.signal(abort);
  expect(await restart.result()).toMatchObject({ phase: 'Aborted', restarted: [expect.any(String)], open: 2 });
  expect(inOrder(await vms.restarts())).toEqual([0, 0, 1]);
});

test('a run takes up what the last one has handed to it', async () => {
  const names = namesUpTo('vm', 3);
  const vms = await RestartedVms.of(each(names, {}));
  const vmis = await vms.vmis();
  // The previous run restarted one VM and was in the middle of the next.
  const { uid } = (await vms.vm('vm-2')).metadata;
  const inProgress = [{ vm: vms.key('vm-2'), uid, wasDown: false, takenAt: Date.now() }];
  await fleet().kube.delete(
    VirtualMachineInstances,
    { namespace: vms.namespace, name: 'vm-2' },
    { uid: vmis['vm-2']! },
  );
  const before = {
    inProgress,
    restarted: [vms.key('vm-1')],
    failed: [],
    open: 1,
    skipped: [],
    full: [],
    paused: null,
    aborted: null,
  };
  const carried = { ...before, told: null, quietSince: Date.now(), notBefore: 0, deferrals: 0, seen: {} };
  const chosen = { [vms.namespace]: { ...vmis, 'vm-1': 'the VMI that it had' } };
  const result = await (await vms.restart({ chosen, carried })).result();
  expect(result).toMatchObject({
    phase: 'Complete',
    restarted: ['vm-1', 'vm-2', 'vm-3'].map((name) => vms.key(name)),
    open: 0,
  });
  expect(await vms.restarts()).toEqual({ 'vm-1': 0, 'vm-2': 1, 'vm-3': 1 });
});
