import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ConfigMaps, Secrets, VirtualMachinePools, VirtualMachines, type Resource } from '../../../api/resources.ts';
import { drover, nowhere } from '../../clients/drover.ts';
import { aFleet, haltedTemplate, namesUpTo, runningTemplate, until } from '../fleet.ts';

const fleet = aFleet();
const run = promisify(execFile);

test('a pool gets its VMs, with their owner, labels and annotations, and they run', async () => {
  const namespace = await fleet().namespace();
  const template = {
    metadata: { labels: { app: 'web' }, annotations: { team: 'shop' } },
    spec: {
      ...runningTemplate.spec,
      template: {
        ...runningTemplate.spec.template,
        metadata: {
          labels: { tier: 'front' },
          annotations: { seen: 'by-the-vmi', 'sim.drover.dev/boot-time': '50ms' },
        },
      },
    },
  };
  const pool = await fleet().createPool(namespace, 'web', { replicas: 3, template });
  // Not what a tool takes for healthy that goes by the observed generation.
  expect(pool['status']).toEqual({ observedGeneration: 0, replicas: 0 });
  await until(async () => {
    const { status } = (await fleet().pool(namespace, 'web'))!;
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    expect(status).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      updatedReplicas: 3,
      labelSelector: 'drover.dev/pool=web',
    });
  });
  const [vm, ...others] = await fleet().vms(namespace);
  expect(others.map((other) => other.metadata.name)).toEqual(['web-2', 'web-3']);
  expect(vm!.metadata.ownerReferences).toEqual([
    {
      apiVersion: 'drover.dev/v1alpha1',
      kind: 'VirtualMachinePool',
      name: 'web',
      uid: pool.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ]);
  expect(vm!.metadata.labels).toMatchObject({ app: 'web', 'drover.dev/pool': 'web' });
  expect(vm!.metadata.annotations).toMatchObject({ team: 'shop' });
  expect(vm!['spec']).toMatchObject({
    template: {
      metadata: { labels: { tier: 'front', 'drover.dev/pool': 'web' }, annotations: { seen: 'by-the-vmi' } },
    },
  });
});

test('gaps are filled first, a number that comes back is reused, and scaling makes no revision', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
  const revision = (await fleet().pool(namespace, 'web'))!.status!.updateRevision;

  // Delete the VM and scale out together, so that drover can't fill the gap first.
  await fleet().kube.delete(VirtualMachines, { namespace, name: 'web-2' });
  await fleet().patchPool(namespace, 'web', { replicas: 4 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 4));

  await fleet().patchPool(namespace, 'web', { replicas: 2 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(2));
  await fleet().patchPool(namespace, 'web', { replicas: 5 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 5));
  const pool = (await fleet().pool(namespace, 'web'))!;
  expect(pool.status).toMatchObject({ updateRevision: revision, updatedReplicas: 5 });
  for (const vm of await fleet().vms(namespace)) expect(vm.metadata.labels?.['drover.dev/revision']).toBe(revision);
});

test('a manifest without replicas makes one VM, and leaves the number to an autoscaler, however it is applied', async () => {
  const namespace = await fleet().namespace();
  const { kube } = fleet();
  const key = { namespace, name: 'web' };
  const apply = (spec: object): Promise<unknown> => {
    const object = { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool', metadata: key };
    const manifest = { ...object, spec: { template: haltedTemplate, ...spec } };
    return kube.patch(VirtualMachinePools, key, 'apply', manifest, { fieldManager: 'gitops', force: true });
  };
  const stays = async (count: number): Promise<void> => {
    await fleet().settled(namespace, 'web', namesUpTo('web', count));
    const pool = (await fleet().pool(namespace, 'web'))!;
    expect(pool).toMatchObject({ spec: { replicas: count }, status: { desiredReplicas: count } });
    expect(pool.status!.observedGeneration).toBe(pool.metadata.generation);
  };
  await apply({});
  await until(() => stays(1));
  await kube.patch(VirtualMachinePools, key, 'merge', { spec: { replicas: 3 } }, { subresource: 'scale' });
  await until(() => stays(3));
  const before = await fleet().vms(namespace);
  await apply({});
  await until(() => stays(3));
  // The manager that takes it out is the only one that has set it: it is gone from the spec then.
  await apply({ replicas: 4 });
  await until(() => stays(4));
  await apply({});
  await until(() => stays(4));
  // As the three-way merge of `kubectl apply` takes it out.
  await kube.patch(VirtualMachinePools, key, 'merge', { spec: { replicas: null } });
  await until(() => stays(4));
  const uids = new Set((await fleet().vms(namespace)).map(({ metadata }) => metadata.uid));
  expect(before.filter(({ metadata }) => !uids.has(metadata.uid))).toEqual([]);
});

test('a name that a VM of another owner holds is skipped, and the VM is left alone', async () => {
  const namespace = await fleet().namespace();
  const foreign = await fleet().kube.create(VirtualMachines, {
    metadata: { namespace, name: 'web-2' },
    spec: haltedTemplate.spec,
  });
  await fleet().createPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-3', 'web-4']);
  await fleet().patchPool(namespace, 'web', { replicas: 0 });
  await fleet().settled(namespace, 'web', []);
  const left = await fleet().kube.get(VirtualMachines, { namespace, name: 'web-2' });
  expect(left.metadata.uid).toBe(foreign.metadata.uid);
  expect(left.metadata.ownerReferences).toBeUndefined();
});

test('a VM whose owner reference is removed leaves the pool, and a VM that gets it back returns', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-2']);
  const { metadata } = await fleet().kube.get(VirtualMachines, { namespace, name: 'web-1' });
  await fleet().kube.patch(VirtualMachines, metadata, 'merge', { metadata: { ownerReferences: null } });
  await fleet().settled(namespace, 'web', ['web-2', 'web-3']);
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', ['web-2', 'web-3', 'web-4']);
  await fleet().kube.patch(VirtualMachines, metadata, 'merge', {
    metadata: { ownerReferences: metadata.ownerReferences },
  });
  await fleet().patchPool(namespace, 'web', { replicas: 4 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 4));
});

test('every VM has its own disks, Secrets and ConfigMaps if the pool says so', async () => {
  const namespace = await fleet().namespace();
  const volumes = [
    { name: 'root', dataVolume: { name: 'disk' } },
    { name: 'seed', cloudInitNoCloud: { secretRef: { name: 'user' }, networkDataSecretRef: { name: 'net' } } },
    { name: 'key', secret: { secretName: 'key' } },
    { name: 'settings', configMap: { name: 'settings' } },
  ];
  const template = {
    spec: {
      runStrategy: 'Halted',
      dataVolumeTemplates: [
        {
          metadata: { name: 'disk' },
          spec: {
            source: { blank: {} },
            pvc: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        },
      ],
      template: { spec: { domain: { devices: {} }, volumes } },
    },
  };
  const nameGeneration = { appendPostfixToSecretReferences: true, appendPostfixToConfigMapReferences: true };
  const make = (resource: Resource, name: string) => fleet().kube.create(resource, { metadata: { namespace, name } });
  const makeOwn = (number: number) =>
    Promise.all([
      ...['user', 'net', 'key'].map((name) => make(Secrets, `${name}-${number}`)),
      make(ConfigMaps, `settings-${number}`),
    ]);
  await makeOwn(2);
  await fleet().createPool(namespace, 'web', { replicas: 3, template, nameGeneration });
  await until(async () => {
    expect(await fleet().vmNames(namespace, 'web')).toEqual(['web-2']);
    const { reason, message } = (await fleet().condition(namespace, 'web', 'ReplicaFailure')) ?? {};
    expect({ reason, message }).toEqual({
      reason: 'FailedCreate',
      message:
        'Secrets key-1, key-3, net-1, net-3, … (6) and ConfigMaps settings-1, settings-3 are missing: ' +
        'VMs that need them wait until they are there',
    });
  });
  await Promise.all([makeOwn(1), makeOwn(3)]);
  await fleet().settled(namespace, 'web', ['web-1', 'web-2', 'web-3']);
  const vm = await fleet().kube.get(VirtualMachines, { namespace, name: 'web-2' });
  expect(vm['spec']).toMatchObject({
    dataVolumeTemplates: [{ metadata: { name: 'disk-2' } }],
    template: {
      spec: {
        volumes: [
          { dataVolume: { name: 'disk-2' } },
          { cloudInitNoCloud: { secretRef: { name: 'user-2' }, networkDataSecretRef: { name: 'net-2' } } },
          { secret: { secretName: 'key-2' } },
          { configMap: { name: 'settings-2' } },
        ],
      },
    },
  });

  // What all VMs share is waited for, too.
  const shared = [{ name: 'key', secret: { secretName: 'key' } }];
  const sharing = { spec: { runStrategy: 'Halted', template: { spec: { domain: { devices: {} }, volumes: shared } } } };
  await fleet().createPool(namespace, 'db', { replicas: 1, template: sharing });
  await until(async () =>
    expect((await fleet().condition(namespace, 'db', 'ReplicaFailure'))?.message).toContain(
      'Secret key is missing: VMs that need it wait until it is there',
    ),
  );
  expect(await fleet().vmNames(namespace, 'db')).toEqual([]);
  await make(Secrets, 'key');
  await fleet().settled(namespace, 'db', ['db-1']);
});

test('kubectl scale works', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 1 });
  await fleet().settled(namespace, 'web', ['web-1']);
  const kubectl = (...args: string[]) =>
    run('kubectl', ['--kubeconfig', fleet().stack.kubeconfig, '-n', namespace, ...args]);
  await kubectl('scale', 'virtualmachinepools.drover.dev', 'web', '--replicas=3', '--current-replicas=1');
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
  const scale = await fleet().kube.get<PoolScale>(
    VirtualMachinePools,
    { namespace, name: 'web' },
    { subresource: 'scale' },
  );
  expect(scale.status).toEqual({ replicas: 3, selector: 'drover.dev/pool=web' });
  const history = await drover(['history', 'pool', 'web', '-n', namespace, '-o', 'json'], {
    ...nowhere,
    ...fleet().stack.env,
  });
  expect(JSON.parse(history.stdout)).toContainEqual(
    expect.objectContaining({ action: 'scale', from: '1 VMs', to: '3 VMs', requestedBy: null, end: 'Done' }),
  );
});

type PoolScale = { metadata: { name: string }; status: { replicas: number; selector: string } };
