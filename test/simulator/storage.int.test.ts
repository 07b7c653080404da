import { afterAll, beforeAll, expect, test } from 'vitest';
import { controllerOf, type KubeObject } from '../../api/objects.ts';
import {
  DataVolumes,
  PersistentVolumeClaims,
  Services,
  VirtualMachineInstances,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import { conditionOf } from '../../simulator/objects/conditions.ts';
import { isSoak } from '../soak.ts';
import { KUBEVIRT_CRDS } from '../stacks/stack-pool.ts';
import { eventually, SimulatedCluster, type Wanted } from './simulated-cluster.ts';

const ReplicaSets: Resource = {
  group: 'kubevirt.io',
  version: 'v1',
  plural: 'virtualmachineinstancereplicasets',
  kind: 'VirtualMachineInstanceReplicaSet',
  namespaced: true,
};

/** The schema of KubeVirt's own definitions refuses most of these before the webhook does. */
const MALFORMED =
  isSoak && KUBEVIRT_CRDS !== undefined
    ? /quantities must match the regular expression|in body should match '\^\(\\\+\|-\)\?/
    : 'quantities must match the regular expression';

let cluster: SimulatedCluster;
beforeAll(async () => {
  cluster = await SimulatedCluster.lease();
});
afterAll(() => cluster?.end());

const withDisk = (disk: string, annotations: Record<string, string> = {}): Wanted => ({
  spec: {
    dataVolumeTemplates: [
      {
        metadata: { name: disk, annotations },
        spec: { source: { blank: {} }, storage: { resources: { requests: { storage: '2Gi' } } } },
      },
    ],
  },
  vmi: { volumes: [{ name: 'root', dataVolume: { name: disk } }] },
});
const claim = (name: string) => ({
  metadata: { name, namespace: 'default' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
});
const ownedBy = ({ metadata }: KubeObject, kind: string, apiVersion = 'kubevirt.io/v1') => ({
  metadata: {
    ownerReferences: [
      { apiVersion, kind, name: metadata.name, uid: metadata.uid!, controller: true, blockOwnerDeletion: true },
    ],
  },
});

test("a VM's disk is provisioned before it starts, and goes with it", async () => {
  await cluster.createMachine('disk', withDisk('disk-root', { 'sim.drover.dev/provision-time': '1s' }));
  await cluster.shows('disk', 'Provisioning');
  const vm = await cluster.shows('disk', 'Running');
  const volume = await cluster.dataVolume('disk-root');
  const bound = await cluster.claim('disk-root');
  expect(controllerOf(volume)).toMatchObject({ kind: 'VirtualMachine', uid: vm.metadata.uid });
  expect(volume.status).toMatchObject({ phase: 'Succeeded', progress: '100.0%', claimName: 'disk-root' });
  expect(controllerOf(bound)).toMatchObject({ kind: 'DataVolume', uid: volume.metadata.uid });
  expect(bound).toMatchObject({
    spec: { volumeName: expect.any(String) },
    status: { phase: 'Bound', capacity: { storage: '2Gi' } },
  });
  await cluster.delete(VirtualMachines, 'disk');
  await cluster.gone(VirtualMachines, 'disk');
  await cluster.gone(DataVolumes, 'disk-root');
  await cluster.gone(PersistentVolumeClaims, 'disk-root');
});

test('a halted VM gets its disk too', async () => {
  const { spec, vmi } = withDisk('halted-root');
  await cluster.createMachine('halted', { spec: { ...spec, runStrategy: 'Halted' }, vmi: vmi! });
  await eventually(async () => expect((await cluster.dataVolume('halted-root')).status?.phase).toBe('Succeeded'));
  await cluster.shows('halted', 'Stopped');
});

test('a disk without an owner is adopted by the VM whose template names it', async () => {
  await cluster.running('first', withDisk('kept'));
  const { uid } = (await cluster.dataVolume('kept')).metadata;
  await cluster.delete(VirtualMachines, 'first', 'Orphan');
  await cluster.gone(VirtualMachines, 'first');
  expect(controllerOf(await cluster.dataVolume('kept'))).toBeUndefined();
  await cluster.delete(VirtualMachineInstances, 'first');
  await cluster.gone(VirtualMachineInstances, 'first');
  const { vm } = await cluster.running('second', withDisk('kept'));
  const adopted = await cluster.dataVolume('kept');
  expect(adopted.metadata.uid).toBe(uid);
  expect(controllerOf(adopted)?.uid).toBe(vm.metadata.uid);
});

test('a VM waits for a missing claim', async () => {
  await cluster.createMachine('waits', {
    vmi: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'later' } }] },
  });
  await cluster.shows('waits', 'ErrorPvcNotFound');
  await cluster.kube.create(PersistentVolumeClaims, claim('later'));
  await cluster.shows('waits', 'Running');
  expect((await cluster.claim('later')).status?.phase).toBe('Bound');
  await cluster.delete(PersistentVolumeClaims, 'later');
  await cluster.kube.create(PersistentVolumeClaims, claim('next'));
  await eventually(async () => expect((await cluster.claim('next')).status?.phase).toBe('Bound'));
  expect((await cluster.claim('later')).metadata.deletionTimestamp).toBeDefined();
  await cluster.delete(VirtualMachines, 'waits');
  await cluster.gone(PersistentVolumeClaims, 'later');
});

test('a VM that is deleted alone leaves its VMI running, and a VM of its name takes it over', async () => {
  const { vmi } = await cluster.running('orphans');
  await cluster.delete(VirtualMachines, 'orphans', 'Orphan');
  await cluster.gone(VirtualMachines, 'orphans');
  const left = await cluster.vmi('orphans');
  expect(left.metadata).toMatchObject({ uid: vmi.metadata.uid });
  expect(left.metadata.deletionTimestamp).toBeUndefined();
  expect(controllerOf(left)).toBeUndefined();
  const { vm, vmi: adopted } = await cluster.running('orphans');
  expect(adopted.metadata.uid).toBe(vmi.metadata.uid);
  expect(controllerOf(adopted)?.uid).toBe(vm.metadata.uid);
});

test('an object of a dead owner goes, and one of a living owner stays', async () => {
  const selector = { matchLabels: { a: 'b' } };
  const template = { metadata: { labels: { a: 'b' } }, spec: { domain: { devices: {} } } };
  const set = (name: string) =>
    cluster.kube.create(ReplicaSets, { metadata: { name, namespace: 'default' }, spec: { selector, template } });
  const [dying, living] = [await set('dying'), await set('living')];
  await cluster.running('of-dying', ownedBy(dying, 'VirtualMachineInstanceReplicaSet'));
  await cluster.running('of-living', ownedBy(living, 'VirtualMachineInstanceReplicaSet'));
  await cluster.delete(ReplicaSets, 'dying');
  await cluster.gone(VirtualMachines, 'of-dying');
  // Has the name of a living owner, but the UID of a deleted one.
  const impostor = { ...living, metadata: { ...living.metadata, uid: dying.metadata.uid } };
  await cluster.createMachine('of-none', {
    ...ownedBy(impostor, 'VirtualMachineInstanceReplicaSet'),
    spec: { runStrategy: 'Halted' },
  });
  await cluster.gone(VirtualMachines, 'of-none');
  // A kind that the collector ignores.
  const service = await cluster.kube.get(Services, { namespace: 'default', name: 'kubernetes' });
  await cluster.createMachine('of-service', { ...ownedBy(service, 'Service', 'v1'), spec: { runStrategy: 'Halted' } });
  await cluster.shows('of-service', 'Stopped');
  await cluster.createMachine('of-none-again', {
    ...ownedBy(impostor, 'VirtualMachineInstanceReplicaSet'),
    spec: { runStrategy: 'Halted' },
  });
  await cluster.gone(VirtualMachines, 'of-none-again');
  expect((await cluster.vm('of-service')).metadata.deletionTimestamp).toBeUndefined();
  expect((await cluster.vm('of-living')).metadata.deletionTimestamp).toBeUndefined();
});

test("a VM leaves another's VMI of its name alone, and reports that it cannot start", async () => {
  const { vmi } = await cluster.running('taken');
  await cluster.delete(VirtualMachines, 'taken', 'Orphan');
  await cluster.gone(VirtualMachines, 'taken');
  const service = await cluster.kube.get(Services, { namespace: 'default', name: 'kubernetes' });
  await cluster.patch(VirtualMachineInstances, 'taken', ownedBy(service, 'Service', 'v1'));
  await cluster.createMachine('taken');
  await eventually(async () =>
    expect(conditionOf(await cluster.vm('taken'), 'Failure')).toMatchObject({ reason: 'FailedCreate' }),
  );
  expect((await cluster.vm('taken')).status).toMatchObject({ printableStatus: 'Stopped' });
  await cluster.delete(VirtualMachines, 'taken');
  await cluster.gone(VirtualMachines, 'taken');
  const left = await cluster.vmi('taken');
  expect(left.metadata.uid).toBe(vmi.metadata.uid);
  expect(left.metadata.deletionTimestamp).toBeUndefined();
});

test('a VMI that no VM made runs and goes as any other', async () => {
  await cluster.kube.create(VirtualMachineInstances, {
    metadata: {
      name: 'bare',
      namespace: 'default',
      annotations: { 'sim.drover.dev/boot-time': '0s', 'sim.drover.dev/stop-time': '0s' },
    },
    spec: { domain: { devices: {}, memory: { guest: '64Mi' } } },
  });
  await eventually(async () => expect((await cluster.vmi('bare')).status?.phase).toBe('Running'));
  await cluster.delete(VirtualMachineInstances, 'bare');
  await cluster.gone(VirtualMachineInstances, 'bare');
});

test('a disk template that no volume names is refused, on creation and on any change', async () => {
  const dataVolumeTemplates = [{ metadata: { name: 'lost' }, spec: { source: { blank: {} } } }];
  const volumes = [{ name: 'disk', dataVolume: { name: 'lost' } }];
  const domain = { devices: {}, memory: { guest: '64Mi' } };
  const words = "each entry of spec.dataVolumeTemplates must be referenced in the VMI template's 'volumes' list";
  const spec = { runStrategy: 'Halted' as const, dataVolumeTemplates };
  await expect(cluster.createMachine('loses', { spec, vmi: { domain } })).rejects.toThrow(words);
  await cluster.createMachine('loses', { spec, vmi: { domain, volumes } });
  await expect(cluster.changeVmi('loses', { volumes: [] })).rejects.toThrow(words);
});

test('a malformed quantity is refused in every field', async () => {
  const memory = { guest: '64Mi' };
  const domains = [
    { memory: { guest: '64Mo' } },
    { memory: { ...memory, maxGuest: '1 Gi' } },
    { memory: { hugepages: { pageSize: '2MB' } } },
    { memory, resources: { requests: { cpu: 'two' } } },
    { memory, resources: { limits: { memory: '1Gib' } } },
  ].map((domain) => ({ vmi: { domain: { devices: {}, ...domain } } }));
  const domain = { devices: {}, memory };
  const withVolumes = (...volumes: object[]) => ({ domain, volumes });
  const disk = { metadata: { name: 'own' }, spec: { storage: { resources: { requests: { storage: '2Go' } } } } };
  const disks = [
    { vmi: withVolumes({ name: 'scratch', emptyDisk: { capacity: 'big' } }) },
    {
      spec: { runStrategy: 'Halted' as const, dataVolumeTemplates: [disk] },
      vmi: withVolumes({ name: 'own', dataVolume: { name: 'own' } }),
    },
  ];
  for (const machine of [...domains, ...disks])
    await expect(cluster.createMachine('none', machine as object)).rejects.toThrow(MALFORMED);
  const amounts = { requests: { cpu: '100m', memory: 67_108_864 }, limits: { memory: '1e9' } };
  await cluster.createMachine('some', {
    spec: { runStrategy: 'Halted' },
    vmi: { domain: { devices: {}, memory: { guest: '.5Gi' }, resources: amounts } },
  } as object);
  await expect(cluster.changeVmi('some', { domain: { ...domain, memory: { guest: '64Mo' } } })).rejects.toThrow(
    MALFORMED,
  );
});

test('a VM that asks for no memory is admitted, and not started', async () => {
  await cluster.createMachine('tiny', { vmi: { domain: { devices: {} } } });
  await eventually(async () =>
    expect(conditionOf(await cluster.vm('tiny'), 'Failure')).toMatchObject({
      reason: 'FailedCreate',
      message: expect.stringContaining('no memory requested') as string,
    }),
  );
  expect((await cluster.vm('tiny')).status).toMatchObject({ printableStatus: 'Stopped' });
});
