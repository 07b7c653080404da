import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { DETACHED_ANNOTATION, REMOVING_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import {
  ControllerRevisions,
  CustomResourceDefinitions,
  DataVolumes,
  PersistentVolumeClaims,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import type { VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { field } from '../../../decisions/lib/json.ts';
import { keptDiskOf } from '../../../decisions/template/kept-disk.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { retryOnConflict } from '../../../kubernetes/retry.ts';
import type { Claim } from '../../../simulator/objects/kubevirt.ts';
import { poolIdOf } from '../../../workflows/lib/messages.ts';
import { needs } from '../../cluster/given/needs.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../fleet.ts';

const fleet = aFleet();
const run = promisify(execFile);

const diskTemplate = {
  spec: {
    ...runningTemplate.spec,
    dataVolumeTemplates: [
      {
        metadata: { name: 'disk' },
        spec: {
          source: { blank: {} },
          pvc: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      },
    ],
    template: {
      ...runningTemplate.spec.template,
      spec: {
        domain: { devices: {}, memory: { guest: '64Mi' } },
        volumes: [{ name: 'root', dataVolume: { name: 'disk' } }],
      },
    },
  },
};

const running = (namespace: string, count: number) =>
  until(async () => expect((await fleet().pool(namespace, 'web'))?.status?.readyReplicas).toBe(count));
const copies = async (namespace: string) => {
  const { items } = await fleet().kube.list(ControllerRevisions, { namespace });
  return items.filter(({ metadata: { name } }) => name.startsWith('revision-start-vm-'));
};
const gone = (namespace: string) => until(async () => expect(await fleet().pool(namespace, 'web')).toBeUndefined());

test('a deleted pool takes its VMs down gracefully, goes when the last is gone, and so does its workflow', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 5, template: runningTemplate });
  await running(namespace, 5);
  await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' });
  await until(async () => {
    const pool = await fleet().pool(namespace, 'web');
    const left = await fleet().vms(namespace);
    // The pool is never deleted before its VMs.
    if (left.length > 0) expect(pool).toBeDefined();
    expect(left).toHaveLength(0);
  });
  await gone(namespace);
  const handle = fleet().temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }));
  await until(async () => expect((await handle.describe()).status.name).toBe('COMPLETED'));
  // The last signal, for the pool's own deletion, starts no new workflow.
  expect((await handle.describe()).historyLength).toBeGreaterThan(20);
});

const strategyOf = (vm: Stored): unknown => field(vm['spec'], 'template', 'spec', 'evictionStrategy');

test.each([
  [
    'by drover and the API',
    (namespace: string) =>
      fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' }, { propagationPolicy: 'Orphan' }),
  ],
  [
    'by kubectl',
    (namespace: string) =>
      run('kubectl', [
        '--kubeconfig',
        fleet().stack.kubeconfig,
        '-n',
        namespace,
        'delete',
        'dpool',
        'web',
        '--cascade=orphan',
        '--wait=false',
      ]),
  ],
])('VMs stay as they are without an owner under --cascade=orphan, %s', async (_how, remove) => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 3, template: runningTemplate, drain: {} });
  await running(namespace, 3);
  const before = await fleet().vms(namespace);
  expect(before.map(strategyOf)).toEqual(['External', 'External', 'External']);
  await remove(namespace);
  await gone(namespace);
  const after = await fleet().vms(namespace);
  expect(after.map((vm) => vm.metadata.uid)).toEqual(before.map((vm) => vm.metadata.uid));
  for (const vm of after) {
    expect(vm.metadata.ownerReferences ?? []).toEqual([]);
    expect(vm.metadata.deletionTimestamp).toBeUndefined();
    expect(vm['status']).toMatchObject({ ready: true });
    expect(strategyOf(vm)).toBeUndefined();
    expect(Object.keys(vm.metadata.annotations ?? {}).filter((name) => name.startsWith('drover.dev/'))).toEqual([
      DETACHED_ANNOTATION,
    ]);
  }
});

test('scale-in with statePreservation Offline keeps the disks, and the VM that comes back has them', async () => {
  const namespace = await fleet().namespace();
  const scaleInStrategy = {
    proactive: { statePreservation: 'Offline' as const, selectionPolicy: { basePolicy: 'Newest' as const } },
  };
  await fleet().createPool(namespace, 'web', { replicas: 2, template: diskTemplate, scaleInStrategy });
  await running(namespace, 2);
  const disks = async () =>
    (await fleet().kube.list(PersistentVolumeClaims, { namespace })).items.map(({ metadata: { name, uid } }) => ({
      name,
      uid,
    }));
  const kept = await disks();
  expect(kept.map((disk) => disk.name)).toEqual(['disk-1', 'disk-2']);

  await fleet().patchPool(namespace, 'web', { replicas: 0 });
  await fleet().settled(namespace, 'web', []);
  await until(async () => expect(await fleet().vms(namespace)).toEqual([]));
  expect(await disks()).toEqual(kept);
  // Nothing else of the VMs is left: otherwise KubeVirt's copies of their specs would stay for ever.
  await until(async () => expect((await copies(namespace)).map(({ metadata: { name } }) => name)).toEqual([]));
  const claim = await fleet().kube.get(PersistentVolumeClaims, { namespace, name: 'disk-2' });
  expect(keptDiskOf(claim.metadata)).toMatchObject({
    pool: 'web',
    number: 2,
    disk: 'disk',
    template: { spec: { pvc: { resources: { requests: { storage: '1Gi' } } } } },
    keptBy: 'scale-in',
  });
  expect((await fleet().kube.get(DataVolumes, { namespace, name: 'disk-2' })).metadata.ownerReferences ?? []).toEqual(
    [],
  );

  await fleet().patchPool(namespace, 'web', { replicas: 2 });
  await running(namespace, 2);
  expect(await disks()).toEqual(kept);
  const { metadata } = await fleet().kube.get(VirtualMachines, { namespace, name: 'web-1' });
  const disk = (await ignoreNotFound(fleet().kube.get(DataVolumes, { namespace, name: 'disk-1' })))!;
  expect(disk.metadata.ownerReferences?.[0]?.uid).toBe(metadata.uid);
});

/** Keeps a VMI that is told to stop, so that its VM does not go either, until the returned function is called. */
async function holdVmi(namespace: string, name: string): Promise<() => Promise<void>> {
  const write = (change: (finalizers: string[]) => string[]): Promise<void> =>
    retryOnConflict(async () => {
      const { metadata } = await fleet().kube.get(VirtualMachineInstances, { namespace, name });
      const { resourceVersion, finalizers = [] } = metadata;
      const patch = { metadata: { resourceVersion, finalizers: change(finalizers) } };
      await fleet().kube.patch(VirtualMachineInstances, { namespace, name }, 'merge', patch);
    });
  await write((finalizers) => [...finalizers, HOLD]);
  return () => write((finalizers) => finalizers.filter((one) => one !== HOLD));
}
const HOLD = 'test.drover.dev/hold';

const vmIn = (namespace: string, name: string) =>
  fleet().kube.get<VirtualMachine>(VirtualMachines, { namespace, name });
/** Waits until the VM is halted, so that it leaves with its disks kept. */
const leaves = (namespace: string, name: string): Promise<void> =>
  until(async () =>
    expect(await vmIn(namespace, name)).toMatchObject({
      metadata: { annotations: { [REMOVING_ANNOTATION]: expect.any(String) as string } },
      spec: { runStrategy: 'Halted' },
    }),
  );

test('a VM that a user starts while it is halted to keep its disks is halted again, and leaves without them', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', {
    replicas: 1,
    template: diskTemplate,
    scaleInStrategy: { proactive: { statePreservation: 'Offline' } },
  });
  await running(namespace, 1);
  const letGo = await holdVmi(namespace, 'web-1');
  await fleet().patchPool(namespace, 'web', { replicas: 0 });
  await leaves(namespace, 'web-1');
  await fleet().kube.patch(VirtualMachines, { namespace, name: 'web-1' }, 'merge', { spec: { runStrategy: 'Always' } });
  await leaves(namespace, 'web-1');
  await letGo();
  await fleet().settled(namespace, 'web', []);
  expect(
    (await fleet().kube.list(PersistentVolumeClaims, { namespace })).items.map(({ metadata: { name } }) => name),
  ).toEqual(['disk-1']);
});

test('scale-in without statePreservation deletes the disks', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 1, template: diskTemplate });
  await running(namespace, 1);
  await fleet().patchPool(namespace, 'web', { replicas: 0 });
  await until(async () => expect((await fleet().kube.list(PersistentVolumeClaims, { namespace })).items).toEqual([]));
});

const keeping = (statePreservation: 'Offline' | 'Disabled') => ({ proactive: { statePreservation } });

test('a kept disk comes back unchanged, and not at all once the pool keeps none', async () => {
  needs('a default storage class that expands');
  const namespace = await fleet().namespace();
  const claim = () => fleet().kube.get<Claim>(PersistentVolumeClaims, { namespace, name: 'disk-1' });
  const scaledTo = async (replicas: number): Promise<void> => {
    await fleet().patchPool(namespace, 'web', { replicas });
    await running(namespace, replicas);
    await until(async () =>
      expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({
        replicas,
        updatedReplicas: replicas,
        keptDisks: 1 - replicas,
      }),
    );
  };
  await fleet().createPool(namespace, 'web', {
    replicas: 1,
    template: diskTemplate,
    scaleInStrategy: keeping('Offline'),
  });
  await running(namespace, 1);
  const { metadata } = await claim();
  await scaledTo(0);
  expect(await fleet().condition(namespace, 'web', 'DisksKept')).toMatchObject({ status: 'True', reason: 'Kept' });

  const [disk] = diskTemplate.spec.dataVolumeTemplates;
  const spec = { ...disk!.spec, pvc: { ...disk!.spec.pvc, resources: { requests: { storage: '2Gi' } } } };
  await fleet().patchPool(namespace, 'web', {
    template: { spec: { ...diskTemplate.spec, dataVolumeTemplates: [{ ...disk!, spec }] } },
  });
  await until(async () =>
    expect(await fleet().condition(namespace, 'web', 'DisksKept')).toMatchObject({ reason: 'OutdatedTemplate' }),
  );
  await scaledTo(1);
  // The name alone doesn't make the claim larger: the rollout found a VM of the older template and updated it.
  expect(await claim()).toMatchObject({ metadata: { uid: metadata.uid }, status: { capacity: { storage: '2Gi' } } });
  await until(async () => expect(keptDiskOf((await claim()).metadata)).toBeNull());

  await scaledTo(0);
  expect((await claim()).metadata.uid).toBe(metadata.uid);
  await fleet().patchPool(namespace, 'web', { scaleInStrategy: keeping('Disabled') });
  await scaledTo(1);
  expect((await claim()).metadata.uid).not.toBe(metadata.uid);
});

test('a deleted pool leaves the disks that it has kept, also those of VMs that were just leaving', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', {
    replicas: 2,
    template: diskTemplate,
    scaleInStrategy: { proactive: { statePreservation: 'Offline', selectionPolicy: { basePolicy: 'Newest' } } },
  });
  await running(namespace, 2);
  const letGo = await Promise.all(namesUpTo('web', 2).map((name) => holdVmi(namespace, name)));
  await fleet().patchPool(namespace, 'web', { replicas: 1 });
  const leaving = async () =>
    (await fleet().vms(namespace)).filter(
      ({ metadata: { annotations } }) => annotations?.[REMOVING_ANNOTATION] !== undefined,
    );
  await until(async () => expect(await leaving()).toHaveLength(1));
  const [{ metadata }] = (await leaving()) as [Stored];
  await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' });
  await Promise.all(letGo.map((each) => each()));
  await gone(namespace);
  await until(async () =>
    expect((await fleet().kube.list(PersistentVolumeClaims, { namespace })).items).toHaveLength(1),
  );
  const [claim] = (await fleet().kube.list(PersistentVolumeClaims, { namespace })).items;
  expect(metadata.name).toBe(`web-${keptDiskOf(claim!.metadata)?.number}`);
});

/** The custom resource definitions in `deploy/`: all that its deletion could take pools along with. */
const definitions = readdirSync(new URL('../../../deploy/crds/', import.meta.url)).map((file) =>
  file.replace(/\.yaml$/, ''),
);

const byText = (a: string, b: string): number => a.localeCompare(b);

test('a user who removes drover as docs/outages.md says keeps all VMs and disks, with a worker and without', async () => {
  const page = readFileSync(new URL('../../../docs/outages.md', import.meta.url), 'utf8');
  expect(page).toContain('kubectl delete dpool,vmrs,dvmirs --all --all-namespaces --cascade=orphan\n');
  const named = /for crd in ([^;]+); do/
    .exec(page)![1]!
    .split(/[\s\\]+/)
    .map((plural) => `${plural}.drover.dev`);
  expect(named.toSorted(byText)).toEqual(definitions.toSorted(byText));
  const namespace = await fleet().namespace();
  const { kube } = fleet();
  await fleet().createPool(namespace, 'web', { replicas: 2, template: diskTemplate });
  await running(namespace, 2);
  const everything = async () => {
    const lists = await Promise.all(
      [VirtualMachines, VirtualMachineInstances, DataVolumes, PersistentVolumeClaims].map((kind) =>
        kube.list(kind, { namespace }),
      ),
    );
    return lists
      .flatMap(({ items }) =>
        items.map(({ metadata: { name, uid, deletionTimestamp = 'stays' } }) => `${uid} ${name} ${deletionTimestamp}`),
      )
      .toSorted(byText);
  };
  const before = await everything();
  expect(before).toHaveLength(8);
  /** What `kubectl delete -k` does to the definitions: the API server refuses, whether a worker runs or not. */
  const deleteDefinitions = async (): Promise<void> => {
    expect(definitions).toHaveLength(8);
    for (const name of definitions)
      await expect(kube.delete(CustomResourceDefinitions, { name })).rejects.toThrow(
        'would delete all objects of its kind',
      );
  };
  await deleteDefinitions();
  const worker = await fleet().worker();
  await worker.stop();
  await deleteDefinitions();
  // Who forgets the first step: nothing ends, and the pool waits for a worker to let go of its VMs.
  await kube.delete(VirtualMachinePools, { namespace, name: 'web' }, { propagationPolicy: 'Orphan' });
  expect((await fleet().pool(namespace, 'web'))?.metadata.deletionTimestamp).toBeDefined();
  expect(await everything()).toEqual(before);
  await fleet().worker();
  await gone(namespace);
  expect(await everything()).toEqual(before);
  const vms = (await kube.list(VirtualMachines, { namespace })).items;
  expect(vms.map(({ metadata }) => metadata.ownerReferences ?? [])).toEqual([[], []]);
});
