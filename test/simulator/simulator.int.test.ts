import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { controllerOf } from '../../api/objects.ts';
import { CoreEvents, Namespaces, Nodes, Pods, VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { conditionOf } from '../../simulator/objects/conditions.ts';
import type { RunStrategy, VirtualMachine, VirtualMachineInstance } from '../../simulator/objects/kubevirt.ts';
import { isSoak, soak } from '../soak.ts';
import { KUBEVIRT_CRDS } from '../stacks/stack-pool.ts';
import { eventually, SimulatedCluster } from './simulated-cluster.ts';

async function readyOf({ kube }: SimulatedCluster, labelSelector: string): Promise<number> {
  const { items } = await kube.list<VirtualMachine>(VirtualMachines, { labelSelector });
  return items.filter(({ status }) => status?.ready === true).length;
}

/** Other files have the simulator on the stack's own definitions. */
const definitions: [string, boolean][] = [
  ...(isSoak || KUBEVIRT_CRDS === undefined ? [["the stack's own definitions", false] as [string, boolean]] : []),
  ...(KUBEVIRT_CRDS === undefined ? [] : [["KubeVirt's own definitions", true] as [string, boolean]]),
];

describe.each(definitions)('the simulator, with %s', (_which, kubevirtCrds) => {
  let cluster: SimulatedCluster;
  beforeAll(async () => {
    cluster = await SimulatedCluster.lease({ kubevirtCrds });
  });
  afterAll(() => cluster?.end());

  test('runs a VM', async () => {
    const { vm, vmi } = await cluster.running('runs', { annotations: { note: 'kept' } });
    expect(vm.metadata.finalizers).toEqual(['kubevirt.io/virtualMachineControllerFinalize']);
    expect(vm.status).toMatchObject({
      created: true,
      ready: true,
      runStrategy: 'Always',
      desiredGeneration: vm.metadata.generation,
    });
    expect(vm.status?.observedGeneration).toBe(vm.status?.desiredGeneration);
    expect(conditionOf(vm, 'Ready')?.status).toBe('True');
    expect(controllerOf(vmi)).toMatchObject({
      kind: 'VirtualMachine',
      uid: vm.metadata.uid,
      blockOwnerDeletion: true,
    });
    expect(vmi.metadata).toMatchObject({ labels: { vm: 'runs' }, annotations: { note: 'kept' } });
    expect(vmi.status).toMatchObject({
      phase: 'Running',
      machine: { type: 'pc-q35-rhel9.6.0' },
      nodeName: expect.stringMatching(/^sim-node-/),
    });
    expect(vmi.status?.phaseTransitionTimestamps?.map(({ phase }) => phase)).toEqual([
      'Pending',
      'Scheduling',
      'Scheduled',
      'Running',
    ]);
    expect(conditionOf(vmi, 'LiveMigratable')?.status).toBe('True');
  });

  test('takes a VM down before it goes', async () => {
    await cluster.running('leaves', { annotations: { 'sim.drover.dev/stop-time': '1s' } });
    await cluster.delete(VirtualMachines, 'leaves');
    await cluster.shows('leaves', 'Terminating');
    // As in KubeVirt, the VM's status follows its VMI.
    await eventually(async () => expect((await cluster.vm('leaves')).status?.ready).toBeUndefined());
    expect((await cluster.vmi('leaves')).metadata.deletionTimestamp).toBeDefined();
    await cluster.gone(VirtualMachines, 'leaves');
    await cluster.gone(VirtualMachineInstances, 'leaves');
  });

  test('keeps the VMIs of a node that is cordoned, uncordoned and cordoned again', async () => {
    const { vmi } = await cluster.running('stays');
    const { nodeName: name } = vmi.status!;
    const cordon = (on: boolean) =>
      cluster.kube.patch(Nodes, { name: name! }, 'merge', { spec: { unschedulable: on || null } });
    const pods = () => cluster.kube.list(Pods, { labelSelector: `kubevirt.io/created-by=${vmi.metadata.uid}` });
    for (let n = 0; n < 5; n++) {
      await cordon(true);
      expect((await pods()).items.length).toBeGreaterThan(0);
      await cordon(false);
    }
    await eventually(async () => expect((await pods()).items).toEqual([]));
    expect((await cluster.vmi('stays')).metadata).toMatchObject({ uid: vmi.metadata.uid });
    expect((await cluster.vmi('stays')).metadata.deletionTimestamp).toBeUndefined();
  });

  test('starts, stops and restarts as requested, and refuses as KubeVirt does', async () => {
    const { vmi } = await cluster.running('power');
    expect(await cluster.call('virtualmachines/power/start')).toMatch(/^409 Conflict: .*VM is already running/);
    expect(await cluster.call('virtualmachines/power/restart')).toBe('ok');
    await eventually(async () => expect((await cluster.vmi('power')).metadata.uid).not.toBe(vmi.metadata.uid));
    const restarted = await cluster.shows('power', 'Running');
    expect(restarted.status?.stateChangeRequests ?? []).toEqual([]);
    expect(await cluster.call('virtualmachines/power/stop')).toBe('ok');
    const stopped = await cluster.shows('power', 'Stopped');
    expect(stopped.spec.runStrategy).toBe('Halted');
    expect(conditionOf(stopped, 'Ready')?.reason).toBe('VMINotExists');
    expect(await cluster.call('virtualmachines/power/restart')).toMatch(/^409 Conflict/);
    expect(await cluster.call('virtualmachines/power/start')).toBe('ok');
    expect((await cluster.shows('power', 'Running')).spec.runStrategy).toBe('Always');
    expect(await cluster.call('virtualmachines/nobody/restart')).toMatch(/^404 NotFound: .*"nobody" not found/);
  });

  test('fails as many starts as it is asked to, counts them as KubeVirt does, and then succeeds for good', async () => {
    await cluster.configure({ metadata: { annotations: { 'sim.drover.dev/backoff-factor': '0.1' } } });
    await cluster.createMachine('fails', { annotations: { 'sim.drover.dev/fail-starts': '2' } });
    const failed = await cluster.shows('fails', 'CrashLoopBackOff');
    const { lastFailedVMIUID } = failed.status!.startFailure!;
    const fieldSelector = `involvedObject.uid=${lastFailedVMIUID}`;
    await eventually(async () =>
      expect((await cluster.kube.list(CoreEvents, { namespace: 'default', fieldSelector })).items).toMatchObject([
        { type: 'Warning', reason: 'Stopped', message: 'The VirtualMachineInstance crashed.' },
      ]),
    );
    // On a busy machine, the second start may have failed by now.
    expect([1, 2]).toContain(failed.status?.startFailure?.consecutiveFailCount);
    await eventually(async () =>
      expect((await cluster.vm('fails')).status?.startFailure?.consecutiveFailCount).toBe(2),
    );
    const up = await cluster.shows('fails', 'Running');
    expect(up.status?.startFailure ?? undefined).toBeUndefined();
    const { uid } = (await cluster.vmi('fails')).metadata;
    await cluster.delete(VirtualMachineInstances, 'fails');
    await eventually(async () => expect((await cluster.vmi('fails')).metadata.uid).not.toBe(uid));
    const restarted = await cluster.shows('fails', 'Running');
    expect(restarted.status?.startFailure ?? undefined).toBeUndefined();
    await cluster.configure({ metadata: { annotations: { 'sim.drover.dev/backoff-factor': null } } });
  });

  test('spreads VMIs that come up at the same time over all nodes', async () => {
    const names = ['spread-1', 'spread-2', 'spread-3', 'spread-4', 'spread-5', 'spread-6'];
    const started = await Promise.all(names.map((name) => cluster.running(name)));
    expect(new Set(started.map(({ vmi }) => vmi.status?.nodeName)).size).toBe(3);
  });

  test('fills in a machine type at once, as a dry run shows, and lets no other client write its own fields', async () => {
    await eventually(async () => {
      const vm = await cluster.kube.patch<VirtualMachine>(
        VirtualMachines,
        { namespace: 'default', name: 'runs' },
        'merge',
        { spec: { template: { spec: { domain: { machine: null } } } } },
        { dryRun: true },
      );
      expect(vm.spec.template.spec.domain.machine).toEqual({ type: 'q35' });
    });
    const vmi = await cluster.patch<VirtualMachineInstance>(VirtualMachineInstances, 'runs', {
      metadata: { labels: { mine: 'yes' } },
      status: { phase: 'Failed' },
    });
    expect(vmi).toMatchObject({ metadata: { labels: { mine: 'yes' } }, status: { phase: 'Running' } });
    await expect(cluster.patch(VirtualMachineInstances, 'runs', { spec: { hostname: 'other' } })).rejects.toThrow(
      /update of VMI object is restricted/,
    );
    const both = { spec: { running: true, runStrategy: 'Always' as const } };
    await expect(cluster.createMachine('both', both)).rejects.toThrow(/Running and RunStrategy are mutually exclusive/);
    const unheardOf = { spec: { runStrategy: 'Sometimes' as RunStrategy } };
    await expect(cluster.createMachine('unheard-of', unheardOf)).rejects.toThrow(/runStrategy must be one of/);
    const { status } = await cluster.vm('runs');
    const foreign = { type: 'Mine', status: 'True', lastProbeTime: null, lastTransitionTime: null };
    const patch = { status: { conditions: [...status!.conditions!, foreign] } };
    await cluster.kube.patch(VirtualMachines, { namespace: 'default', name: 'runs' }, 'merge', patch, {
      subresource: 'status',
    });
    await eventually(async () => expect(conditionOf(await cluster.vm('runs'), 'Mine')).toBeUndefined());
  });

  test('brings many VMs up, restarts them and takes them down at once', async () => {
    const names = Array.from({ length: soak(60, 20) }, (_, n) => `many-${n}`);
    const uids = async () => Promise.all(names.map(async (name) => (await cluster.vmi(name)).metadata.uid));
    await Promise.all(names.map((name) => cluster.createMachine(name, { metadata: { labels: { many: 'yes' } } })));
    await eventually(async () => expect(await readyOf(cluster, 'many=yes')).toBe(names.length));
    const before = new Set(await uids());
    expect(await Promise.all(names.map((name) => cluster.call(`virtualmachines/${name}/restart`)))).toEqual(
      names.map(() => 'ok'),
    );
    await eventually(async () => expect((await uids()).filter((uid) => before.has(uid))).toEqual([]));
    await eventually(async () => expect(await readyOf(cluster, 'many=yes')).toBe(names.length));
    await Promise.all(names.map((name) => cluster.delete(VirtualMachines, name)));
    await eventually(async () =>
      expect((await cluster.kube.list(VirtualMachines, { labelSelector: 'many=yes' })).items).toEqual([]),
    );
  });

  test('continues where it was when it was killed, and ends when asked to', async () => {
    await cluster.createMachine('interrupted', { annotations: { 'sim.drover.dev/boot-time': '2s' } });
    await eventually(async () => expect((await cluster.vmi('interrupted')).status?.phase).toBe('Scheduled'));
    const { uid } = (await cluster.vmi('interrupted')).metadata;
    cluster.stack.kill('simulator', 'SIGKILL');
    await cluster.createMachine('meanwhile');
    await cluster.stack.restart('simulator');
    await cluster.shows('interrupted', 'Running');
    await cluster.shows('meanwhile', 'Running');
    expect((await cluster.vmi('interrupted')).metadata.uid).toBe(uid);
    await cluster.stack.halt('simulator');
    await cluster.stack.restart('simulator');
    expect(await cluster.call('virtualmachines/meanwhile/restart')).toBe('ok');
  });

  test('empties a namespace that is deleted', async () => {
    const namespace = 'leaving';
    await cluster.kube.create(Namespaces, { metadata: { name: namespace } });
    await cluster.createMachine('inside', {
      metadata: { namespace },
      annotations: { 'sim.drover.dev/stop-time': '300ms' },
    });
    await eventually(async () => {
      const inside = await cluster.kube.get<VirtualMachineInstance>(VirtualMachineInstances, {
        namespace,
        name: 'inside',
      });
      expect(inside.status?.phase).toBe('Running');
    });
    await cluster.kube.delete(Namespaces, { name: namespace });
    await eventually(() =>
      expect(cluster.kube.get(Namespaces, { name: namespace })).rejects.toMatchObject({ status: 404 }),
    );
    expect((await cluster.kube.list(VirtualMachines, { namespace })).items).toEqual([]);
  });
});
