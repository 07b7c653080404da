import { expect, onTestFinished, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import {
  DataVolumes,
  Nodes,
  VirtualMachineInstances,
  VirtualMachineReplicaSets,
  VirtualMachines,
} from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { newNode } from '../../../simulator/controllers/node-controller.ts';
import { aFleet, until } from '../fleet.ts';
import { mostVms, templateOf, TestSets, uidsOf } from './sets.ts';

const fleet = aFleet();
const sets = new TestSets(fleet);

test('a set is scaled out and in by its scale subresource, and a VM that is not ready leaves first', async () => {
  const namespace = await fleet().namespace();
  await sets.create(namespace, 'web', { replicas: 2 });
  await until(async () => expect((await sets.get(namespace, 'web'))?.status?.readyReplicas).toBe(2));
  const [stopped] = await sets.members(namespace, 'web');
  await fleet().kube.patch(VirtualMachines, stopped!.metadata, 'merge', { spec: { runStrategy: 'Halted' } });
  await until(async () => expect((await sets.get(namespace, 'web'))?.status?.readyReplicas).toBe(1));
  const scaleTo = (replicas: number) =>
    fleet().kube.patch(
      VirtualMachineReplicaSets,
      { namespace, name: 'web' },
      'merge',
      { spec: { replicas } },
      {
        subresource: 'scale',
      },
    );
  await scaleTo(4);
  await until(async () => expect((await sets.get(namespace, 'web'))?.status?.readyReplicas).toBe(3));
  await scaleTo(3);
  const left = await sets.settled(namespace, 'web', 3);
  expect(left.map(({ metadata }) => metadata.uid)).not.toContain(stopped!.metadata.uid);
  await scaleTo(0);
  await sets.settled(namespace, 'web', 0);
  expect(await sets.events(namespace)).toContain('SuccessfulDelete');
});

test('a VM that is deleted is replaced once it is gone, and never before', async () => {
  const namespace = await fleet().namespace();
  await sets.create(namespace, 'web', { replicas: 2 });
  const [vm] = await sets.settled(namespace, 'web', 2);
  const watched = await mostVms(fleet(), namespace);
  const hold = { metadata: { finalizers: ['test.drover.dev/hold'] } };
  await fleet().kube.patch(VirtualMachines, vm!.metadata, 'merge', hold);
  await fleet().kube.delete(VirtualMachines, vm!.metadata);
  await until(async () => {
    const progressing = await sets.condition(namespace, 'web', 'Progressing');
    expect(progressing).toMatchObject({ status: 'True', reason: 'ScalingOut' });
    expect(progressing?.message).toContain(`${vm!.metadata.name} being deleted`);
  });
  expect(watched.most()).toBeLessThanOrEqual(2);
  await fleet().kube.patch(VirtualMachines, vm!.metadata, 'merge', { metadata: { finalizers: null } });
  await until(async () => {
    const vms = await sets.settled(namespace, 'web', 2);
    expect(vms.map(({ metadata }) => metadata.uid)).not.toContain(vm!.metadata.uid);
  });
  expect(watched.most()).toBeLessThanOrEqual(2);
});

test('a VM that has run to its end is deleted and replaced', async () => {
  const namespace = await fleet().namespace();
  const template = templateOf('job', {
    runStrategy: 'Once',
    template: {
      metadata: {
        annotations: {
          'sim.drover.dev/boot-time': '50ms',
          'sim.drover.dev/run-time': '1s',
          'sim.drover.dev/run-end': 'Failed',
        },
      },
      spec: { domain: { devices: {}, memory: { guest: '64Mi' } } },
    },
  });
  const watched = await mostVms(fleet(), namespace);
  await sets.create(namespace, 'job', { replicas: 1, template });
  await until(async () => expect(watched.made()).toBeGreaterThan(2));
  expect(watched.most()).toBe(1);
});

test('a VM whose VMI KubeVirt gives up with its node keeps its place until the node is back', async () => {
  const { kube } = fleet();
  const namespace = await fleet().namespace();
  const node = newNode(namespace, Date.now());
  await kube.create(Nodes, node);
  onTestFinished(async () => void (await ignoreNotFound(kube.delete(Nodes, { name: namespace }))));
  const template = templateOf('job', {
    runStrategy: 'Once',
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': '50ms', 'sim.drover.dev/stop-time': '50ms' } },
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': namespace },
        domain: { devices: {}, memory: { guest: '64Mi' } },
      },
    },
  });
  await sets.create(namespace, 'job', { replicas: 1, template });
  await until(async () => expect((await sets.get(namespace, 'job'))?.status?.readyReplicas).toBe(1));
  const [vm] = await sets.members(namespace, 'job');
  const { name, uid } = vm!.metadata;
  const watched = await mostVms(fleet(), namespace);
  await kube.delete(Nodes, { name: namespace });
  await until(async () => {
    const { status } = await kube.get(VirtualMachineInstances, { namespace, name });
    expect(status).toMatchObject({ phase: 'Failed', reason: 'NodeUnresponsive' });
    expect((await sets.condition(namespace, 'job', 'Progressing'))?.message).toContain(
      `on nodes that do not answer, and in their places until they are deleted or the nodes are back: ${name}`,
    );
  });
  // A plan that is made after all of that leaves the VM alone as well.
  const { metadata } = await sets.patch(namespace, 'job', { minReadySeconds: 1 });
  await until(async () =>
    expect((await sets.get(namespace, 'job'))?.status?.observedGeneration).toBe(metadata.generation),
  );
  expect(uidsOf(await sets.members(namespace, 'job'))).toEqual([uid]);
  await kube.create(Nodes, node);
  await until(async () => expect(uidsOf(await sets.settled(namespace, 'job', 1))).not.toEqual([uid]));
  expect(watched.most()).toBe(1);
});

test('a paused set makes and deletes nothing', async () => {
  const namespace = await fleet().namespace();
  await sets.create(namespace, 'web', { replicas: 1 });
  const [vm] = await sets.settled(namespace, 'web', 1);
  await sets.patch(namespace, 'web', { replicas: 3, paused: true });
  await until(async () => {
    const { metadata, status } = (await sets.get(namespace, 'web'))!;
    expect(status?.observedGeneration).toBe(metadata.generation);
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Paused', status: 'True' }));
  });
  expect((await sets.members(namespace, 'web')).map(({ metadata }) => metadata.uid)).toEqual([vm!.metadata.uid]);
  await sets.patch(namespace, 'web', { paused: false });
  await sets.settled(namespace, 'web', 3);
});

const disksOf = (vms: readonly Stored[]): string[] =>
  vms.map(({ metadata }) => `scratch-${metadata.name.slice('web-'.length)}`).sort();

test('each VM has a disk of its own, and it goes with the VM', async () => {
  const namespace = await fleet().namespace();
  const pvc = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const template = templateOf('web', {
    dataVolumeTemplates: [{ metadata: { name: 'scratch' }, spec: { source: { blank: {} }, pvc } }],
    template: { spec: { domain: { devices: {} }, volumes: [{ name: 'root', dataVolume: { name: 'scratch' } }] } },
  });
  await sets.create(namespace, 'web', { replicas: 2, template });
  for (const vm of await sets.settled(namespace, 'web', 2)) {
    const name = `scratch-${vm.metadata.name.slice('web-'.length)}`;
    expect(vm['spec']).toMatchObject({
      dataVolumeTemplates: [{ metadata: { name } }],
      template: { spec: { volumes: [{ dataVolume: { name } }] } },
    });
  }
  const disks = async (): Promise<string[]> =>
    (await fleet().kube.list(DataVolumes, { namespace })).items.map(({ metadata }) => metadata.name).sort();
  await until(async () => expect(await disks()).toEqual(disksOf(await sets.members(namespace, 'web'))));
  expect(await disks()).toHaveLength(2);
  await sets.patch(namespace, 'web', { replicas: 1 });
  const left = await sets.settled(namespace, 'web', 1);
  await until(async () => expect(await disks()).toEqual(disksOf(left)));
});
