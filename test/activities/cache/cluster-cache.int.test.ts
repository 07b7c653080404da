import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import type { CacheChange } from '../../../activities/cache/objects/cache-change.ts';
import { POOL_LABEL, REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import { ControllerRevisions, KubeVirts, VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';
import { aFleet, haltedTemplate, until } from '../../integration/fleet.ts';
import { aWorkerCache } from './worker-cache.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

async function started(): Promise<ClusterCache> {
  const { cache } = await aWorkerCache(cluster().stack.kubeconfig);
  await cache.start();
  return cache;
}

const createVm = (namespace: string): Promise<Stored> =>
  cluster().kube.create<KubeObject>(VirtualMachines, {
    metadata: { namespace, name: 'web-1' },
    spec: haltedTemplate.spec,
  });

const vmiOf = ({ metadata: { namespace, name, uid } }: Stored): KubeObject => ({
  metadata: {
    namespace: namespace!,
    name,
    ownerReferences: [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid, controller: true }],
  },
  spec: { domain: { devices: {}, cpu: { sockets: 2, maxSockets: 8 }, memory: { guest: '1Gi', maxGuest: '4Gi' } } },
  status: {
    phase: 'Running',
    nodeName: 'node-1',
    conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-02T03:04:05Z' }],
    currentCPUTopology: { sockets: 1, cores: 1, threads: 1 },
    memory: { guestAtBoot: '1Gi', guestCurrent: '1Gi', guestRequested: '1Gi' },
    machine: { type: 'q35' },
    migrationState: { migrationUid: 'one', completed: true },
  },
});

test('vmiOf returns the VMI of the VM itself, not one left by an earlier VM of the same name', async () => {
  const namespace = await cluster().namespace();
  const cache = await started();
  const vm = await createVm(namespace);
  await cluster().kube.create(VirtualMachineInstances, vmiOf(vm));
  await until(async () => expect(cache.vmis.get(`${namespace}/web-1`)).toBeDefined());
  const view = { namespace, name: 'web-1', uid: vm.metadata.uid };
  expect(cache.vmiOf(view)).toMatchObject({
    ready: true,
    readySince: Date.UTC(2026, 0, 2, 3, 4, 5),
    node: 'node-1',
    migration: null,
    machineType: 'q35',
    cpu: { sockets: 2, maxSockets: 8, current: 1 },
    memory: { guest: '1Gi', maxGuest: '4Gi', atBoot: '1Gi', current: '1Gi' },
  });

  // No garbage collector runs here: the VMI stays.
  await cluster().kube.delete(VirtualMachines, { namespace, name: 'web-1' });
  const later = await createVm(namespace);
  await cache.catchUp({ vms: later.metadata.resourceVersion });
  expect(cache.vms.get(`${namespace}/web-1`)).toMatchObject({ uid: later.metadata.uid });
  expect(cache.vmis.get(`${namespace}/web-1`)).toBeDefined();
  expect(cache.vmiOf({ ...view, uid: later.metadata.uid })).toBeUndefined();
});

test('catchUp never returns while the cache is older than the requested resource version', async () => {
  const namespace = await cluster().namespace();
  const { cache } = await aWorkerCache(cluster().stack.kubeconfig, (_method, path) =>
    path.includes('watch=true') ? 'hang' : 'pass',
  );
  await cache.start();
  const vm = await createVm(namespace);
  const { metadata } = await cluster().kube.create(VirtualMachineInstances, vmiOf(vm));
  expect(await cache.catchUp({})).toMatchObject({ vmis: expect.stringMatching(/^\d+$/) as string });
  expect(cache.vmiOf(vm.metadata as { namespace: string; name: string; uid: string })).toBeUndefined();
  const reached = await cache.catchUp({ vmis: metadata.resourceVersion });
  expect(Number(reached.vmis)).toBeGreaterThanOrEqual(Number(metadata.resourceVersion));
  expect(cache.vmiOf(vm.metadata as { namespace: string; name: string; uid: string })).toBeDefined();
});

test('the cache is synced once VMIs are listed, and does not wait for kinds that the cluster does not serve', async () => {
  const listed = Promise.withResolvers<void>();
  const { cache, calls } = await aWorkerCache(cluster().stack.kubeconfig, async (_method, path) => {
    if (path.includes('/kubevirts')) return { status: 404 };
    if (path.includes('/virtualmachineinstances')) await listed.promise;
    return 'pass';
  });
  let complete = false;
  const start = cache.start().then(() => (complete = true));
  await until(async () => {
    const { virtualmachineinstances, kubevirts, ...others } = cache.caches;
    expect(Object.values(others).every(({ synced }) => synced)).toBe(true);
    expect(kubevirts!.missing).toBe('the API server does not serve it');
    expect(calls).toContainEqual(expect.stringMatching(/kubevirts 404$/));
    expect(virtualmachineinstances!.synced).toBe(false);
  });
  expect(complete).toBe(false);
  listed.resolve();
  await start;
  expect(Object.values(cache.caches).every(({ synced, missing }) => synced || missing !== null)).toBe(true);
  expect(cache.rolloutStrategy()).toBe('LiveUpdate');
});

test('a sync waits for KubeVirt while it is unreachable', async () => {
  let away = true;
  const { cache, calls } = await aWorkerCache(cluster().stack.kubeconfig, (_method, path) =>
    away && path.includes('/kubevirts') ? { status: 503 } : 'pass',
  );
  let complete = false;
  const start = cache.start().then(() => (complete = true));
  await until(async () => expect(calls.filter((call) => call.endsWith('kubevirts 503')).length).toBeGreaterThan(1));
  await until(async () => {
    const { kubevirts, ...others } = cache.caches;
    expect(Object.values(others).every(({ synced }) => synced)).toBe(true);
    expect(kubevirts!.missing).toBeNull();
  });
  expect(complete).toBe(false);
  away = false;
  await start;
});

test("KubeVirt's rollout strategy is followed as the cluster's configuration changes, with one report a change", async () => {
  const cache = await started();
  const told: Extract<CacheChange, { kind: 'strategy' }>[] = [];
  cache.subscribe((change) => void (change.kind === 'strategy' && told.push(change)));
  expect(cache.rolloutStrategy()).toBe('LiveUpdate');
  const namespace = await cluster().namespace();
  const key = { namespace, name: 'kubevirt' };
  const follows = (strategy: string) => until(async () => expect(cache.rolloutStrategy()).toBe(strategy));

  await cluster().kube.create(KubeVirts, { metadata: key, spec: { configuration: { vmRolloutStrategy: 'Stage' } } });
  await follows('Stage');
  await cluster().kube.patch(KubeVirts, key, 'merge', { metadata: { labels: { some: 'label' } } });
  await cluster().kube.patch(KubeVirts, key, 'merge', { spec: { configuration: { vmRolloutStrategy: null } } });
  await follows('LiveUpdate');
  await cluster().kube.patch(
    KubeVirts,
    key,
    'merge',
    { status: { observedKubeVirtVersion: 'v1.5.2' } },
    { subresource: 'status' },
  );
  await follows('Stage');
  await cluster().kube.patch(
    KubeVirts,
    key,
    'merge',
    { status: { observedKubeVirtVersion: 'v1.6.0' } },
    { subresource: 'status' },
  );
  await follows('LiveUpdate');
  expect(told.map((change) => change.after)).toEqual(['Stage', 'LiveUpdate', 'Stage', 'LiveUpdate']);
  await cluster().kube.patch(KubeVirts, key, 'merge', { spec: { configuration: { vmRolloutStrategy: 'Stage' } } });
  await follows('Stage');
  await cluster().kube.delete(KubeVirts, key);
  await follows('LiveUpdate');
});

test('the cache has only ControllerRevisions of drover, and indexes only those that a pool owns', async () => {
  const namespace = await cluster().namespace();
  const cache = await started();
  const create = (name: string, object: Record<string, unknown>, metadata = {}) =>
    cluster().kube.create<KubeObject>(ControllerRevisions, {
      metadata: { namespace, name, ...metadata },
      revision: 1,
      ...object,
    });
  const revision = revisionOf(haltedTemplate);
  const labels = { [POOL_LABEL]: 'web', [REVISION_LABEL]: revision };
  const ownerReferences = [
    { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool', name: 'web', uid: 'pool-uid', controller: true },
  ];
  await create('of-a-stateful-set', { data: { template: {} } });
  await create('of-nobody', { data: { template: {} } }, { labels });
  await create('without-template', { data: { spec: {} } }, { labels, ownerReferences });
  await create('of-another-name', { data: { template: haltedTemplate } }, { labels, ownerReferences });
  await create(`web-${revision}`, { data: { template: haltedTemplate } }, { labels, ownerReferences });
  await until(async () =>
    expect(cache.revisions.of({ namespace, uid: 'pool-uid' }).map(({ name }) => name)).toEqual([`web-${revision}`]),
  );
  expect(cache.revisions.get(`${namespace}/of-a-stateful-set`)).toBeUndefined();
  expect(cache.revisions.size).toBe(4);
  expect(cache.revisions.of({ namespace, uid: 'pool-uid' })[0]).toMatchObject({
    revision,
    number: 1,
    template: haltedTemplate,
    requestedBy: null,
    changeCause: null,
  });
});

test('a worker that may not list nodes, or whose cluster lacks a kind, continues without and says so', async () => {
  const { cache } = await aWorkerCache(cluster().stack.kubeconfig, (_method, path) => {
    if (path.startsWith('/api/v1/nodes')) return { status: 403 };
    return path.includes('/virtualmachinereplicasets') ? { status: 404 } : 'pass';
  });
  await cache.start();
  expect(cache.missing.map(({ resource, message: why }) => [resource.plural, why])).toEqual([
    ['virtualmachinereplicasets', 'the API server does not serve it'],
    ['nodes', 'this client may not list it'],
  ]);
  await cache.catchUp({});
  expect(cache.nodes.withNode(aVmi(aVm('web-1'), { node: 'node-1' })).nodeLost).toBe(false);
});
