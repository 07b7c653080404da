import { expect, test } from 'vitest';
import {
  Nodes,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachines,
} from '../../../api/resources.ts';
import { aFleet, until } from '../fleet.ts';
import { instanceTemplateOf, INSTANCES, mostVms, TestSets, uidsOf } from './sets.ts';

const fleet = aFleet();
const sets = new TestSets(fleet, INSTANCES);

const hold = (finalizers: string[] | null) => ({ metadata: { finalizers } });

test('a set is scaled out and in by its scale subresource, and a VMI that is not ready leaves first', async () => {
  const namespace = await fleet().namespace();
  await sets.create(namespace, 'web', { replicas: 2 });
  const [unready] = await sets.settled(namespace, 'web', 2);
  const annotations = { 'sim.drover.dev/never-ready': 'true' };
  await fleet().kube.patch(VirtualMachineInstances, unready!.metadata, 'merge', { metadata: { annotations } });
  await until(async () => expect((await sets.get(namespace, 'web'))?.status?.readyReplicas).toBe(1));
  const scaleTo = (replicas: number) =>
    fleet().kube.patch(
      VirtualMachineInstanceReplicaSets,
      { namespace, name: 'web' },
      'merge',
      { spec: { replicas } },
      { subresource: 'scale' },
    );
  await scaleTo(4);
  await until(async () => expect((await sets.get(namespace, 'web'))?.status?.readyReplicas).toBe(3));
  await scaleTo(3);
  expect(uidsOf(await sets.settled(namespace, 'web', 3))).not.toContain(unready!.metadata.uid);
  await scaleTo(0);
  await sets.settled(namespace, 'web', 0);
  expect(await sets.events(namespace)).toContain('SuccessfulDelete');
});

test('a VMI that is being deleted is replaced at once, also if a finalizer holds it', async () => {
  const namespace = await fleet().namespace();
  await sets.create(namespace, 'web', { replicas: 2 });
  const [vmi] = await sets.settled(namespace, 'web', 2);
  const { finalizers = [] } = (await fleet().kube.get(VirtualMachineInstances, vmi!.metadata)).metadata;
  const held = hold([...finalizers, 'test.drover.dev/hold']);
  await fleet().kube.patch(VirtualMachineInstances, vmi!.metadata, 'merge', held);
  await fleet().kube.delete(VirtualMachineInstances, vmi!.metadata);
  await until(async () => {
    expect((await sets.get(namespace, 'web'))?.status).toMatchObject({ replicas: 2, readyReplicas: 2 });
    const members = await sets.members(namespace, 'web');
    expect(members).toHaveLength(3);
    expect(new Set(members.map(({ metadata }) => metadata.name)).size).toBe(3);
    const progressing = await sets.condition(namespace, 'web', 'Progressing');
    expect(progressing?.message).toContain(`${vmi!.metadata.name} being deleted, and replaced`);
  });
  await fleet().kube.patch(VirtualMachineInstances, vmi!.metadata, 'merge', hold(null));
  await sets.settled(namespace, 'web', 2);
});

test('VMIs that have ended are deleted and replaced, and each that comes up counts anew', async () => {
  const namespace = await fleet().namespace();
  const annotations = { 'sim.drover.dev/run-time': '11s', 'sim.drover.dev/run-end': 'Failed' };
  await sets.create(namespace, 'job', { replicas: 2, template: instanceTemplateOf('job', annotations) });
  const first = await sets.settled(namespace, 'job', 2);
  await until(async () => {
    const members = await sets.members(namespace, 'job');
    expect(members).toHaveLength(2);
    expect(members.filter(({ metadata }) => uidsOf(first).includes(metadata.uid))).toEqual([]);
  });
  expect(await sets.condition(namespace, 'job', 'ReplicaFailure')).toBeUndefined();
});

test('a VMI on a node that does not answer is replaced, and a node that comes back leaves as many as are wanted', async () => {
  const namespace = await fleet().namespace();
  await sets.create(namespace, 'web', { replicas: 2 });
  await until(async () => expect((await sets.get(namespace, 'web'))?.status?.readyReplicas).toBe(2));
  const [vmi] = await sets.members(namespace, 'web');
  const node = { name: (vmi!['status'] as { nodeName: string }).nodeName };
  const lose = (lost: string | null) =>
    fleet().kube.patch(Nodes, node, 'merge', { metadata: { annotations: { 'sim.drover.dev/lost': lost } } });
  await lose('true');
  try {
    await until(async () => {
      const members = await sets.members(namespace, 'web');
      expect(members.length).toBeGreaterThan(2);
      expect(uidsOf(members)).toContain(vmi!.metadata.uid);
      expect((await sets.get(namespace, 'web'))?.status).toMatchObject({ replicas: 2, readyReplicas: 2 });
      const progressing = await sets.condition(namespace, 'web', 'Progressing');
      expect(progressing?.message).toContain('on nodes that do not answer, and replaced: ');
    });
  } finally {
    await lose(null);
  }
  // Whichever is not ready yet leaves first: that may be the VMI of the node that is back.
  await sets.settled(namespace, 'web', 2);
});

test('a template that never comes up makes few VMIs, and the status says why and until when', async () => {
  const namespace = await fleet().namespace();
  const watched = await mostVms(fleet(), namespace, VirtualMachineInstances);
  const template = instanceTemplateOf('bad', { 'sim.drover.dev/fail-starts': 'always' });
  const has = (message: RegExp): Promise<void> =>
    sets.had(namespace, 'bad', 'ReplicaFailure', {
      status: 'True',
      reason: 'FailedStart',
      message: expect.stringMatching(message) as string,
    });
  const second = has(/^bad-\w{5} ended before it had come up .*, as others did 2 .*made at /);
  // KubeVirt's own set makes 50 in this time. Its VMIs end within the second in which they are made.
  const third = has(/3 times in a row/);
  await sets.create(namespace, 'bad', { replicas: 2, template });
  await Promise.all([second, third]);
  expect(watched.made()).toBeGreaterThan(2);
  expect(watched.made()).toBeLessThan(8);
  expect((await sets.events(namespace)).filter((reason) => reason === 'FailedStart')).toHaveLength(1);
  await sets.patch(namespace, 'bad', { template: instanceTemplateOf('bad', { 'sim.drover.dev/fail-starts': '0' }) });
  await sets.settled(namespace, 'bad', 2);
  await until(async () => expect(await sets.condition(namespace, 'bad', 'ReplicaFailure')).toBeUndefined());
});

test("VMIs of VMs, and of KubeVirt's own sets, are left alone, whatever their labels", async () => {
  const namespace = await fleet().namespace();
  const { metadata, spec } = instanceTemplateOf('web');
  const vm = { metadata: { namespace, name: 'vm' }, spec: { runStrategy: 'Always', template: { metadata, spec } } };
  await fleet().kube.create(VirtualMachines, vm);
  const other = { ...VirtualMachineInstanceReplicaSets, group: 'kubevirt.io', version: 'v1' };
  // KubeVirt's own controller runs on a real cluster: a paused set keeps what it has.
  const theirs = await fleet().kube.create(other, {
    metadata: { namespace, name: 'web' },
    spec: { replicas: 1, paused: true, selector: { matchLabels: { app: 'web' } }, template: { metadata, spec } },
  });
  const { kind } = other;
  const owner = { apiVersion: 'kubevirt.io/v1', kind, name: 'web', uid: theirs.metadata.uid, controller: true };
  const kubevirts = { ...metadata, namespace, name: 'kubevirts', ownerReferences: [owner] };
  await fleet().kube.create(VirtualMachineInstances, { metadata: kubevirts, spec });
  await sets.create(namespace, 'web', { replicas: 1 });
  await sets.settled(namespace, 'web', 1);
  await sets.patch(namespace, 'web', { replicas: 0 });
  await sets.settled(namespace, 'web', 0);
  const left = (await fleet().kube.list(VirtualMachineInstances, { namespace })).items;
  expect(left.map((vmi) => vmi.metadata.name).sort()).toEqual(['kubevirts', 'vm']);
});
