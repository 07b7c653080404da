import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  DataVolumes,
  PersistentVolumeClaims,
  VirtualMachineInstances,
  VirtualMachines,
} from '../../../api/resources.ts';
import { conditionOf } from '../../../simulator/objects/conditions.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { NOT_LIVE } from '../../../simulator/vm/rollout.ts';
import { eventually, SimulatedCluster } from '../simulated-cluster.ts';

let cluster: SimulatedCluster;
beforeAll(async () => {
  cluster = await SimulatedCluster.lease();
});
afterAll(() => cluster?.end());

const uidOf = async (name: string): Promise<string> => (await cluster.vmi(name)).metadata.uid;
const end = (name: string, uid: string) =>
  cluster.kube.delete(VirtualMachineInstances, { namespace: 'default', name }, { uid });
const restartRequired = async (name: string) => conditionOf(await cluster.vm(name), 'RestartRequired');

/** Changes the VMI template's metadata; resolves when the simulator has observed it, so that new VMIs have it. */
async function relabel(name: string, metadata: object): Promise<void> {
  const {
    metadata: { generation },
  } = await cluster.patch<VirtualMachine>(VirtualMachines, name, { spec: { template: { metadata } } });
  await eventually(async () =>
    expect((await cluster.vm(name)).status?.desiredGeneration).toBeGreaterThanOrEqual(generation!),
  );
}

const restarted = (name: string, uid: string): Promise<VirtualMachineInstance> =>
  eventually(async () => {
    const vmi = await cluster.vmi(name);
    expect(vmi.metadata.uid).not.toBe(uid);
    return vmi;
  });

describe('a VMI that is deleted', () => {
  test.each(['Always', 'Once'] as const)('comes back under %s, which stays', async (runStrategy) => {
    const name = `back-${runStrategy.toLowerCase()}`;
    const { vmi } = await cluster.running(name, { spec: { runStrategy } });
    await expect(end(name, 'another')).rejects.toMatchObject({ status: 409 });
    await end(name, vmi.metadata.uid);
    await restarted(name, vmi.metadata.uid);
    expect((await cluster.shows(name, 'Running')).spec.runStrategy).toBe(runStrategy);
  });

  test.each(['Manual', 'RerunOnFailure'] as const)(
    'stays away under %s, which restarts by the subresource',
    async (runStrategy) => {
      const name = `away-${runStrategy.toLowerCase()}`;
      await cluster.createMachine(name, { spec: { runStrategy } });
      if (runStrategy === 'Manual') expect(await cluster.call(`virtualmachines/${name}/start`)).toBe('ok');
      await cluster.shows(name, 'Running');
      const uid = await uidOf(name);
      expect(await cluster.call(`virtualmachines/${name}/restart`)).toBe('ok');
      const { metadata } = await restarted(name, uid);
      await cluster.shows(name, 'Running');
      await end(name, metadata.uid!);
      await cluster.gone(VirtualMachineInstances, name);
      const off = await cluster.shows(name, 'Stopped');
      expect(off.spec.runStrategy).toBe(runStrategy);
      expect(off.status).not.toHaveProperty('created');
      expect(off.status).not.toHaveProperty('ready');
    },
  );
});

test('a VM follows its VMI down and up through a restart', async () => {
  const { vm, vmi } = await cluster.running('turns', {
    annotations: { 'sim.drover.dev/boot-time': '200ms', 'sim.drover.dev/stop-time': '200ms' },
  });
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const seen: string[] = [];
  const { metadata } = await cluster.kube.list(VirtualMachines, { namespace: 'default' });
  const follow = async (): Promise<void> => {
    const query = {
      resourceVersion: metadata.resourceVersion,
      fieldSelector: `metadata.name=${vm.metadata.name}`,
    };
    for await (const event of cluster.kube.watch<VirtualMachine>(VirtualMachines, {
      namespace: 'default',
      query,
      signal: abort.signal,
    })) {
      if (event.type !== 'MODIFIED') continue;
      const { created, ready, printableStatus } = event.object.status!;
      seen.push(`${printableStatus}${created === true ? ', created' : ''}${ready === true ? ', ready' : ''}`);
      if (ready === true) return;
    }
  };
  const following = follow();
  await end('turns', vmi.metadata.uid);
  await following;
  expect(seen).toEqual(['Stopping, created', 'Starting', 'Starting, created', 'Running, created, ready']);
});

describe('labels and annotations', () => {
  test('of the template appear on the next VMI, and need no restart', async () => {
    const { vmi } = await cluster.running('labelled');
    await relabel('labelled', { labels: { tier: 'web' }, annotations: { note: 'new' } });
    await cluster.changeVmi('labelled', { nodeSelector: { 'kubernetes.io/os': 'linux' } });
    await eventually(async () => expect((await cluster.vmi('labelled')).spec.nodeSelector).toBeDefined());
    expect(await restartRequired('labelled')).toBeUndefined();
    expect((await cluster.vmi('labelled')).metadata.labels?.['tier']).toBeUndefined();
    await end('labelled', vmi.metadata.uid);
    const next = await restarted('labelled', vmi.metadata.uid);
    expect(next.metadata).toMatchObject({ labels: { tier: 'web' }, annotations: { note: 'new' } });
  });

  test('that others put on a VMI stay', async () => {
    await cluster.running('marked');
    await cluster.patch(VirtualMachineInstances, 'marked', {
      metadata: { labels: { mark: 'mine' }, annotations: { note: 'mine' } },
    });
    await cluster.changeVmi('marked', { domain: { cpu: { sockets: 2 } } });
    await eventually(async () => expect((await cluster.vmi('marked')).status?.currentCPUTopology?.sockets).toBe(2));
    expect((await cluster.vmi('marked')).metadata).toMatchObject({
      labels: { mark: 'mine' },
      annotations: { note: 'mine' },
    });
  });

  test('are in the template of a new VM though no user asked for them', async () => {
    const { vm } = await cluster.running('noted');
    expect(vm.spec.template.metadata?.annotations).toMatchObject({ 'kubevirt.io/pci-topology-version': 'v3' });
    expect(vm.spec.template.spec.domain.firmware).toEqual({
      uuid: expect.any(String),
      serial: expect.any(String),
    });
  });
});

test('a change outside the template shows in the observed generations, and a change of it only after a restart', async () => {
  const { vmi } = await cluster.running('counted');
  const generations = async () => {
    const { metadata, status } = await cluster.vm('counted');
    return { now: metadata.generation, desired: status?.desiredGeneration, observed: status?.observedGeneration };
  };
  await cluster.patch(VirtualMachines, 'counted', { spec: { runStrategy: 'Manual' } });
  await eventually(async () => expect(await generations()).toEqual({ now: 2, desired: 2, observed: 2 }));
  await relabel('counted', { labels: { tier: 'web' } });
  await eventually(async () => expect(await generations()).toEqual({ now: 3, desired: 3, observed: 2 }));
  expect(await cluster.call('virtualmachines/counted/restart')).toBe('ok');
  await restarted('counted', vmi.metadata.uid);
  await eventually(async () => expect(await generations()).toEqual({ now: 3, desired: 3, observed: 3 }));
});

describe('RestartRequired', () => {
  test('stays with a VM that is stopped, until its next start', async () => {
    await cluster.running('stopped');
    await cluster.changeVmi('stopped', { hostname: 'other' });
    await eventually(async () =>
      expect(await restartRequired('stopped')).toMatchObject({ status: 'True', message: NOT_LIVE }),
    );
    expect(await cluster.call('virtualmachines/stopped/stop')).toBe('ok');
    await cluster.shows('stopped', 'Stopped');
    expect(await restartRequired('stopped')).toMatchObject({ status: 'True', message: NOT_LIVE });
    expect(await cluster.call('virtualmachines/stopped/start')).toBe('ok');
    await cluster.shows('stopped', 'Running');
    expect(await restartRequired('stopped')).toBeUndefined();
  });
});

describe('a VM with a disk that is deleted in the foreground', () => {
  const spec = {
    dataVolumeTemplates: [
      {
        metadata: { name: 'fresh-root' },
        spec: { source: { blank: {} }, storage: { resources: { requests: { storage: '1Gi' } } } },
      },
    ],
  };
  const vmi = { volumes: [{ name: 'root', dataVolume: { name: 'fresh-root' } }] };

  test('exists until its VMI and its disk are gone, and the next of its name has its own disk', async () => {
    await cluster.running('fresh', { spec, vmi, annotations: { 'sim.drover.dev/stop-time': '500ms' } });
    const [volume, claim] = [await cluster.dataVolume('fresh-root'), await cluster.claim('fresh-root')];
    for (const { metadata } of [volume, claim])
      expect(metadata.ownerReferences).toMatchObject([{ controller: true, blockOwnerDeletion: true }]);
    await cluster.delete(VirtualMachines, 'fresh', 'Foreground');
    expect((await cluster.vm('fresh')).metadata.finalizers).toContain('foregroundDeletion');
    await cluster.gone(VirtualMachines, 'fresh');
    for (const [resource, name] of [
      [VirtualMachineInstances, 'fresh'],
      [DataVolumes, 'fresh-root'],
      [PersistentVolumeClaims, 'fresh-root'],
    ] as const)
      await expect(cluster.kube.get(resource, { namespace: 'default', name })).rejects.toMatchObject({ status: 404 });
    await cluster.running('fresh', { spec, vmi });
    expect((await cluster.dataVolume('fresh-root')).metadata.uid).not.toBe(volume.metadata.uid);
    expect((await cluster.claim('fresh-root')).metadata.uid).not.toBe(claim.metadata.uid);
  });
});
