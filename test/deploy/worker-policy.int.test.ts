import { beforeAll, expect, test } from 'vitest';
import { CHECK_LABEL, KEPT_DISK, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import type { New, OwnerReference, Stored } from '../../api/objects.ts';
import {
  apiVersionOf,
  ControllerRevisions,
  DataVolumes,
  Deployments,
  Jobs,
  KubeVirtPools,
  Namespaces,
  PersistentVolumeClaims,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { aFleet, haltedTemplate, until } from '../integration/fleet.ts';
import { createNamespacedAccounts, createServiceAccounts, kubeconfigOf, NAMESPACE } from './service-accounts.ts';

/** What the token of a worker is worth: in wrong hands it meets the policy worker.drover.dev. */

/** Without the simulator, which deletes what has no owner any more. */
const fleet = aFleet({ workers: 0, simulator: false });

let namespace: string;
let worker: KubeClient;

beforeAll(async () => {
  await createServiceAccounts(fleet().kube, ['check-jobs']);
  namespace = await fleet().namespace();
  worker = await clientOf('drover-worker', NAMESPACE);
  // The API server puts a policy into force some moments after it has it.
  await until(() =>
    expect(worker.create(VirtualMachines, here(vm('tried')), { dryRun: true })).rejects.toThrow(REFUSED),
  );
});

const REFUSED = /a worker of (?:drover|the whole cluster)/;

const clientOf = async (account: string, accountIn: string): Promise<KubeClient> =>
  new KubeClient(loadKubeConfig({ kubeconfig: await kubeconfigOf(fleet(), account, accountIn) }));

const controlledBy = (owner: Resource, name = 'web'): { ownerReferences: OwnerReference[] } => ({
  ownerReferences: [
    { apiVersion: apiVersionOf(owner), kind: owner.kind, name, uid: `uid-of-${name}`, controller: true },
  ],
});
const made = (name: string, metadata: object = {}): New => ({ metadata: { name, ...metadata } });
const here = ({ metadata, ...rest }: New): New => ({ ...rest, metadata: { namespace, ...metadata } });
const vm = (name: string, metadata: object = {}): New => ({ ...made(name, metadata), spec: haltedTemplate.spec });
const { template } = haltedTemplate.spec as { template: { spec: object } };
const vmi = (name: string, metadata: object = {}): New => ({ ...made(name, metadata), spec: template.spec });
const revision = (name: string, metadata: object = {}, data: object = { template: {} }): New => ({
  ...made(name, metadata),
  revision: 1,
  data,
});
const job = (name: string, metadata: object = {}): New => ({
  ...made(name, metadata),
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'check', image: 'check' }] } } },
});
const claim = (name: string, metadata: object = {}): New => ({
  ...made(name, metadata),
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
});
const volume = (name: string, metadata: object = {}): New => ({
  ...made(name, metadata),
  spec: { source: { blank: {} }, storage: { resources: { requests: { storage: '1Gi' } } } },
});
const ofPool = { labels: { [POOL_LABEL]: 'web', [CHECK_LABEL]: 'web' }, ...controlledBy(VirtualMachinePools) };
const unlabelled = controlledBy(VirtualMachinePools);
const ofOther = controlledBy(Deployments);

/**
 * `of`: the objects that a worker makes of this kind. `others`: those that it must not make. `leftover`: the name of
 * the one of these that it may delete.
 */
const MADE: Record<string, { resource: Resource; of: New[]; others: New[]; leftover?: string }> = {
  VMs: {
    resource: VirtualMachines,
    of: [vm('a', ofPool), vm('b', controlledBy(VirtualMachineReplicaSets))],
    others: [
      vm('c'),
      vm('d', ofOther),
      vm('e', controlledBy(KubeVirtPools)),
      vm('f', controlledBy(VirtualMachineInstanceReplicaSets)),
    ],
  },
  VMIs: {
    resource: VirtualMachineInstances,
    of: [vmi('a', controlledBy(VirtualMachineInstanceReplicaSets))],
    others: [vmi('c'), vmi('d', ofPool), vmi('of-vm', controlledBy(VirtualMachines))],
    leftover: 'of-vm',
  },
  ControllerRevisions: {
    resource: ControllerRevisions,
    of: [revision('a', ofPool), revision('b', controlledBy(KubeVirtPools), { virtualMachineTemplate: {} })],
    others: [revision('c'), revision('unlabelled', unlabelled), revision('e', { labels: ofPool.labels, ...ofOther })],
    leftover: 'unlabelled',
  },
  Jobs: {
    resource: Jobs,
    of: [job('a', ofPool)],
    others: [job('c'), job('d', unlabelled), job('e', { labels: ofPool.labels })],
  },
};

/** What the API server says to a worker that tries this, in a dry run. */
const tried = (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'done',
    (error: Error) => (REFUSED.test(error.message) ? 'refused' : error.message),
  );
const creates = (kube: KubeClient, resource: Resource, object: New): Promise<string> =>
  tried(kube.create(resource, here(object), { dryRun: true }));
const deletes = ({ resource, metadata }: { resource: Resource } & Pick<Stored, 'metadata'>): Promise<string> =>
  tried(worker.delete(resource, metadata, { dryRun: true }));
const all = <T>(items: readonly T[], ask: (item: T) => Promise<string>): Promise<string[]> =>
  Promise.all(items.map(ask));

test.each(Object.entries(MADE))(
  'a worker makes and deletes %s only of a pool or a set',
  async (_kind, { resource, of, others, leftover = '' }) => {
    const isMade = (one: New): string => (of.includes(one) ? 'done' : 'refused');
    const isDeleted = (one: New): string => (one.metadata.name === leftover ? 'done' : isMade(one));
    const objects = [...of, ...others];
    expect(await all(objects, (one) => creates(worker, resource, one))).toEqual(objects.map(isMade));
    // Nobody else is asked.
    const there = await Promise.all(objects.map((one) => fleet().kube.create(resource, here(one))));
    expect(await all(there, ({ metadata }) => deletes({ resource, metadata }))).toEqual(objects.map(isDeleted));
  },
);

test('a worker changes VMs of any owner, and gives them to no owner but a pool or a set', async () => {
  const { kube } = fleet();
  const { metadata } = await kube.create(VirtualMachines, here(vm('theirs', ofOther)));
  const patches = (change: object): Promise<string> =>
    tried(worker.patch(VirtualMachines, metadata, 'merge', { metadata: change }, { dryRun: true }));
  expect(await patches({ labels: { changed: 'true' } })).toBe('done');
  expect(await patches({ ownerReferences: null })).toBe('done');
  for (const owner of [VirtualMachinePools, VirtualMachineReplicaSets, KubeVirtPools])
    expect(await patches(controlledBy(owner))).toBe('done');
  expect(await patches(controlledBy(Deployments, 'another'))).toBe('refused');
});

test('a worker changes no ControllerRevision of others, and makes none its own', async () => {
  const { kube } = fleet();
  const theirs = await kube.create(ControllerRevisions, here(revision('of-daemon-set', ofOther)));
  const patches = (change: object): Promise<string> =>
    tried(worker.patch(ControllerRevisions, theirs.metadata, 'merge', change, { dryRun: true }));
  expect(await all([{ revision: 7 }, { metadata: ofPool }], patches)).toEqual(['refused', 'refused']);
});

test('a worker deletes only claims that a pool has kept, and DataVolumes without an owner', async () => {
  const { kube } = fleet();
  const kept = await kube.create(PersistentVolumeClaims, here(claim('kept', { labels: { [KEPT_DISK]: 'uid' } })));
  const other = await kube.create(PersistentVolumeClaims, here(claim('other')));
  const free = await kube.create(DataVolumes, here(volume('free')));
  const owned = await kube.create(DataVolumes, here(volume('owned', controlledBy(VirtualMachines))));
  expect(await deletes({ resource: PersistentVolumeClaims, ...kept })).toBe('done');
  expect(await deletes({ resource: PersistentVolumeClaims, ...other })).toBe('refused');
  expect(await deletes({ resource: DataVolumes, ...free })).toBe('done');
  expect(await deletes({ resource: DataVolumes, ...owned })).toBe('refused');
});

test('a worker makes nothing in namespaces of the cluster itself, and one of the whole cluster nothing in its own', async () => {
  const { kube } = fleet();
  const ofKubeVirt = `${namespace}-kubevirt`;
  await kube.create(Namespaces, { metadata: { name: ofKubeVirt, labels: { 'kubevirt.io': '' } } });
  for (const where of ['kube-system', ofKubeVirt, NAMESPACE])
    expect(await creates(worker, VirtualMachines, vm('a', { ...ofPool, namespace: where }))).toBe('refused');
  expect(await creates(kube, VirtualMachines, vm('a', { namespace: 'kube-system' }))).toBe('done');
});

test('a worker of one namespace meets the same, and may run in that namespace', async () => {
  const own = await fleet().namespace();
  await createNamespacedAccounts(fleet().kube, own);
  const kube = await clientOf('drover-worker', own);
  expect(await creates(kube, VirtualMachines, vm('a', { ...ofPool, namespace: own }))).toBe('done');
  expect(await creates(kube, VirtualMachines, vm('a', { namespace: own }))).toBe('refused');
  expect(await creates(kube, VirtualMachines, vm('a', ofPool))).toContain('is forbidden: User');
  await kube.close();
});
