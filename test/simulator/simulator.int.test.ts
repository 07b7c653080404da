import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { controllerOf } from '../../api/objects.ts';
import {
  CoreEvents,
  Namespaces,
  Nodes,
  Pods,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachines,
} from '../../api/resources.ts';
import { conditionOf } from '../../simulator/objects/conditions.ts';
import type { RunStrategy, VirtualMachine, VirtualMachineInstance } from '../../simulator/objects/kubevirt.ts';
import { NOT_LIVE } from '../../simulator/vm/rollout.ts';
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

  test.each([
    ['never-starts', { 'sim.drover.dev/fail-starts': 'always' }, 'Always', 'CrashLoopBackOff'],
    ['has-no-node', { 'sim.drover.dev/unschedulable': 'true' }, 'Always', 'ErrorUnschedulable'],
    ['has-no-image', { 'sim.drover.dev/image-pull-fails': 'true' }, 'Always', 'ImagePullBackOff'],
    ['has-ended', { 'sim.drover.dev/run-time': '0s' }, 'Once', 'Stopped'],
    ['boots', { 'sim.drover.dev/boot-time': '1h' }, 'Always', 'Starting'],
    ['is-halted', {}, 'Halted', 'Stopped'],
  ] as const)('lets a VM go that %s', async (name, annotations, runStrategy, printableStatus) => {
    await cluster.createMachine(name, { annotations, spec: { runStrategy } });
    await cluster.shows(name, printableStatus);
    await cluster.delete(VirtualMachines, name);
    await cluster.gone(VirtualMachines, name);
    await cluster.gone(VirtualMachineInstances, name);
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

  test('starts a VM again whose VMI was deleted, if it always runs', async () => {
    const { vmi } = await cluster.running('again');
    await cluster.delete(VirtualMachineInstances, 'again');
    await eventually(async () => expect((await cluster.vmi('again')).metadata.uid).not.toBe(vmi.metadata.uid));
  });

  test('pauses and migrates a VMI', async () => {
    const { vmi } = await cluster.running('moves', { annotations: { 'sim.drover.dev/migration-time': '1h' } });
    expect(await cluster.call('virtualmachineinstances/moves/pause')).toBe('ok');
    await cluster.shows('moves', 'Paused');
    expect(await cluster.call('virtualmachineinstances/moves/pause')).toMatch(/^409 Conflict: .*already paused/);
    expect(await cluster.call('virtualmachineinstances/moves/unpause')).toBe('ok');
    await cluster.shows('moves', 'Running');
    expect(await cluster.call('virtualmachines/moves/migrate')).toBe('ok');
    await cluster.shows('moves', 'Migrating');
    expect(await cluster.call('virtualmachines/moves/migrate')).toMatch(/in-flight migration detected/);
    const another = { metadata: { namespace: 'default', name: 'another' }, spec: { vmiName: 'moves' } };
    await expect(cluster.kube.create(VirtualMachineInstanceMigrations, another)).rejects.toThrow(
      /^admission webhook ".*" denied the request: in-flight migration detected/,
    );
    await cluster.patch(VirtualMachineInstances, 'moves', {
      metadata: { annotations: { 'sim.drover.dev/migration-time': '0s' } },
    });
    await cluster.shows('moves', 'Running');
    const moved = await cluster.vmi('moves');
    expect(moved.metadata.uid).toBe(vmi.metadata.uid);
    expect(moved.status?.nodeName).not.toBe(vmi.status?.nodeName);
    expect(moved.status?.migrationState).toMatchObject({ completed: true, sourceNode: vmi.status?.nodeName });
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

  test('leaves a VM unschedulable, or not ready, on request, until the request ends', async () => {
    await cluster.createMachine('nowhere', { annotations: { 'sim.drover.dev/unschedulable': 'true' } });
    await cluster.shows('nowhere', 'ErrorUnschedulable');
    await cluster.patch(VirtualMachineInstances, 'nowhere', {
      metadata: { annotations: { 'sim.drover.dev/unschedulable': null } },
    });
    await cluster.shows('nowhere', 'Running');
    const { vm } = await cluster.running('sick', { annotations: { 'sim.drover.dev/never-ready': 'true' } });
    expect(vm.status?.ready).toBeUndefined();
    await cluster.patch(VirtualMachineInstances, 'sick', {
      metadata: { annotations: { 'sim.drover.dev/never-ready': null } },
    });
    await eventually(async () => expect((await cluster.vm('sick')).status?.ready).toBe(true));
  });

  test('ends a VMI by itself; the run strategy decides what follows', async () => {
    const crash = { 'sim.drover.dev/run-time': '0s', 'sim.drover.dev/run-end': 'Failed' };
    const { vmi } = await cluster.running('crashes');
    await cluster.patch(VirtualMachineInstances, 'crashes', { metadata: { annotations: crash } });
    await eventually(async () => expect((await cluster.vmi('crashes')).metadata.uid).not.toBe(vmi.metadata.uid));
    await cluster.createMachine('once', {
      spec: { runStrategy: 'Once' },
      annotations: { 'sim.drover.dev/run-time': '0s' },
    });
    expect((await cluster.shows('once', 'Stopped')).status?.created).toBe(true);
    expect((await cluster.vmi('once')).status?.phase).toBe('Succeeded');
    await cluster.createMachine('reruns', { spec: { runStrategy: 'RerunOnFailure' } });
    await cluster.shows('reruns', 'Running');
    const { uid } = (await cluster.vmi('reruns')).metadata;
    await cluster.patch(VirtualMachineInstances, 'reruns', { metadata: { annotations: crash } });
    await eventually(async () => expect((await cluster.vmi('reruns')).metadata.uid).not.toBe(uid));
  });

  test('reports when a change waits for a restart, and makes it live if possible', async () => {
    const { vmi } = await cluster.running('changes');
    await cluster.changeVmi('changes', { domain: { cpu: { sockets: 2 }, memory: { guest: '4Gi' } } });
    await eventually(async () =>
      expect((await cluster.vmi('changes')).status).toMatchObject({
        currentCPUTopology: { sockets: 2 },
        memory: { guestCurrent: '4Gi' },
      }),
    );
    expect(conditionOf(await cluster.vm('changes'), 'RestartRequired')).toBeUndefined();
    const required = async () => conditionOf(await cluster.vm('changes'), 'RestartRequired');
    await cluster.changeVmi('changes', { hostname: 'other' });
    await eventually(async () => expect(await required()).toMatchObject({ status: 'True', message: NOT_LIVE }));
    await cluster.changeVmi('changes', { hostname: null });
    await eventually(async () => expect(await required()).toBeUndefined());
    await cluster.changeVmi('changes', { domain: { machine: { type: 'pc-q35-rhel9.4.0' } } });
    await eventually(async () => expect(await required()).toMatchObject({ status: 'True' }));
    expect((await cluster.vmi('changes')).metadata.uid).toBe(vmi.metadata.uid);
    expect(await cluster.call('virtualmachines/changes/restart')).toBe('ok');
    await eventually(async () => expect((await cluster.vmi('changes')).status?.machine?.type).toBe('pc-q35-rhel9.4.0'));
    await eventually(async () => expect(await required()).toBeUndefined());
  });

  test('makes nothing live if the cluster says Stage', async () => {
    const required = async (name: string) => conditionOf(await cluster.vm(name), 'RestartRequired');
    const select = (name: string) => cluster.changeVmi(name, { nodeSelector: { 'kubernetes.io/os': 'linux' } });
    await cluster.running('probe');
    await cluster.configure({ spec: { configuration: { vmRolloutStrategy: 'Stage' } } });
    // The simulator still applies changes live until it has observed the strategy; the probe waits for that.
    await select('probe');
    await eventually(async () => expect(await required('probe')).toMatchObject({ message: NOT_LIVE }));
    await select('runs');
    await eventually(async () => expect(await required('runs')).toMatchObject({ message: NOT_LIVE }));
    expect((await cluster.vmi('runs')).spec.nodeSelector).toBeUndefined();
    await cluster.configure({ spec: { configuration: { vmRolloutStrategy: null } } });
    await eventually(async () =>
      expect((await cluster.vmi('runs')).spec.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux' }),
    );
  });

  test('spreads VMIs that come up at the same time over all nodes', async () => {
    const names = ['spread-1', 'spread-2', 'spread-3', 'spread-4', 'spread-5', 'spread-6'];
    const started = await Promise.all(names.map((name) => cluster.running(name)));
    expect(new Set(started.map(({ vmi }) => vmi.status?.nodeName)).size).toBe(3);
  });

  test('loses a node, and what ran there, until it is back', async () => {
    const { vmi } = await cluster.running('lost');
    const name = vmi.status!.nodeName!;
    const mark = (lost: string | null) =>
      cluster.kube.patch(Nodes, { name }, 'merge', { metadata: { annotations: { 'sim.drover.dev/lost': lost } } });
    await mark('true');
    await eventually(async () =>
      expect(conditionOf(await cluster.vmi('lost'), 'Ready')).toMatchObject({ status: 'False', reason: '' }),
    );
    // Reported earlier, as Kubernetes does.
    expect((await cluster.kube.get(Nodes, { name }))['status']).toMatchObject({
      conditions: [expect.objectContaining({ type: 'Ready', status: 'Unknown' })],
    });
    await eventually(async () => expect((await cluster.vm('lost')).status?.ready).toBeUndefined());
    await cluster.delete(VirtualMachineInstances, 'lost');
    const { vmi: elsewhere } = await cluster.running('elsewhere');
    expect(elsewhere.status?.nodeName).not.toBe(name);
    expect((await cluster.vmi('lost')).metadata.uid).toBe(vmi.metadata.uid);
    await mark(null);
    await eventually(async () => expect((await cluster.vmi('lost')).metadata.uid).not.toBe(vmi.metadata.uid));
    await cluster.shows('lost', 'Running');
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
