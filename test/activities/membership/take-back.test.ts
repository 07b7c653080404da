import { expect, test } from 'vitest';
import './virtual-pauses.ts';
import {
  KUBEVIRT_REVISION_LABEL,
  MEMBERSHIP_CHANGE_ANNOTATION,
  POOL_LABEL,
  REVISION_LABEL,
} from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import { ControllerRevisions, KubeVirtPools, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import type { KubeVirtPool } from '../../../decisions/membership/kubevirt-pool.ts';
import { hashOf, templateOf } from '../../clients/rollout/pools.ts';
import { Cluster, key, namespace } from './handover-cluster.ts';

const KILLED = new Error('killed');

const theirs = (cluster: Cluster): Stored<KubeVirtPool> => cluster.find<KubeVirtPool>(KubeVirtPools)!;

function changeTheirs(cluster: Cluster, spec: object): void {
  cluster.server.write(KubeVirtPools, key, (pool) => ({ ...pool, spec: { ...(pool['spec'] as object), ...spec } }));
}

/** As drover's pool has made the VM. */
function markNewest(cluster: Cluster, name: string): void {
  cluster.server.write(VirtualMachines, { namespace, name }, (vm) => ({
    ...vm,
    metadata: { ...vm.metadata, labels: { ...vm.metadata.labels, [POOL_LABEL]: 'web', [REVISION_LABEL]: hashOf(1) } },
  }));
}

const otherTemplate = { virtualMachineTemplate: { metadata: { labels: { app: 'web' } }, ...templateOf(2) } };

/** Carries it out until right before this call, or so many of them. */
async function killedBefore(
  cluster: Cluster,
  command: 'takeOver' | 'release',
  last: { verb: string; plural: string; name?: string },
  count = 1,
): Promise<void> {
  let calls = 0;
  cluster.before = async ({ verb, resource, name }) => {
    const isMet = verb === last.verb && resource.plural === last.plural && (last.name ?? name) === name;
    if (isMet && ++calls === count) throw KILLED;
  };
  await expect(cluster[command]()).rejects.toBe(KILLED);
  cluster.before = async () => {};
}

const takenUpTo = (cluster: Cluster, name: string): Promise<void> =>
  killedBefore(cluster, 'takeOver', { verb: 'patch', plural: VirtualMachines.plural, name });

test('a pool whose VMs have names that KubeVirt would not give is not released, and nothing begins', async () => {
  const cluster = new Cluster();
  cluster.pool('web-1', 'old-web', 'web-02');
  await expect(cluster.release()).rejects.toThrow(
    "pool web: KubeVirt's pools name their VMs web-0, web-1, …, and can't have old-web, web-02: " +
      '`drover detach old-web web-02 --decrement` takes them out, and they keep running',
  );
  expect(cluster.find(KubeVirtPools)).toBeUndefined();
  expect(cluster.find(VirtualMachinePools)?.metadata.annotations ?? {}).not.toHaveProperty([
    MEMBERSHIP_CHANGE_ANNOTATION,
  ]);
});

test('a takeover is taken back also if KubeVirt has a VM of another name', async () => {
  const cluster = new Cluster();
  const pool = cluster.kubeVirtPool('old-web', 'web-1');
  await takenUpTo(cluster, 'web-1');
  await cluster.release();
  expect(cluster.membersOf(pool)).toEqual(['old-web', 'web-1']);
});

/** What KubeVirt takes the VM to be made from: the template of its revision. */
const templateOfVm = (cluster: Cluster, name: string): unknown => {
  const revision = cluster.find(VirtualMachines, name)!.metadata.labels?.[KUBEVIRT_REVISION_LABEL];
  if (revision === undefined) return undefined;
  const { data } = cluster.find<KubeObject & { data: KubeVirtPool['spec'] }>(ControllerRevisions, revision)!;
  return data['virtualMachineTemplate'];
};

test('VMs of a pool whose template has changed in KubeVirt since are not passed off as made from that', async () => {
  const cluster = new Cluster();
  cluster.kubeVirtPool('web-0', 'web-1');
  await takenUpTo(cluster, 'web-1');
  changeTheirs(cluster, otherTemplate);
  expect(await cluster.release()).toMatchObject({ note: expect.stringContaining('its pool stays paused') as string });
  expect(templateOfVm(cluster, 'web-0')).toBeUndefined();
  expect(theirs(cluster).spec.paused).toBe(true);
});

test('a template that is changed in the middle of a release changes nothing about the VMs that have moved', async () => {
  const cluster = new Cluster();
  cluster.pool('web-1', 'web-2');
  for (const { metadata } of cluster.server.all(VirtualMachines)) markNewest(cluster, metadata.name);
  await killedBefore(cluster, 'release', { verb: 'patch', plural: VirtualMachines.plural, name: 'web-2' });
  const made = theirs(cluster).spec['virtualMachineTemplate'];
  expect(templateOfVm(cluster, 'web-1')).toEqual(made);
  changeTheirs(cluster, otherTemplate);
  await cluster.release();
  expect([templateOfVm(cluster, 'web-1'), templateOfVm(cluster, 'web-2')]).toEqual([made, undefined]);
  expect(theirs(cluster).spec.paused).toBe(true);
});

test('a template that is changed at the end of a release keeps the pool paused: KubeVirt would restart its VMs', async () => {
  const cluster = new Cluster();
  cluster.pool('web-1');
  markNewest(cluster, 'web-1');
  await killedBefore(cluster, 'release', { verb: 'list', plural: ControllerRevisions.plural }, 2);
  changeTheirs(cluster, otherTemplate);
  await cluster.release();
  expect(theirs(cluster).spec.paused).toBe(true);
});

test('a takeover is taken back to the template that KubeVirt has now, whatever an earlier release has left', async () => {
  const cluster = new Cluster();
  const pool = cluster.kubeVirtPool('web-0', 'web-1') as Stored<KubeVirtPool>;
  const { virtualMachineTemplate } = pool.spec;
  const name = `vmpool-${pool.metadata.uid}-of-another-template`;
  const data = { ...pool.spec, ...otherTemplate };
  cluster.server.create(ControllerRevisions, { metadata: { namespace, name }, revision: 7, data });
  await takenUpTo(cluster, 'web-1');
  await cluster.release();
  expect(templateOfVm(cluster, 'web-0')).toEqual(virtualMachineTemplate);
  expect(theirs(cluster).spec.paused).toBe(false);
});

test('a pool that goes to KubeVirt with an unchanged template continues', async () => {
  const cluster = new Cluster();
  cluster.pool('web-1', 'web-2');
  for (const { metadata } of cluster.server.all(VirtualMachines)) markNewest(cluster, metadata.name);
  await cluster.release();
  expect(theirs(cluster).spec.paused).toBe(false);
});

test('a pool that was already paused is paused again when its takeover is taken back, and heals as it did', async () => {
  const cluster = new Cluster();
  cluster.kubeVirtPool('web-0', 'web-1');
  const before = { paused: true, autohealing: { startUpFailureThreshold: 5 } };
  changeTheirs(cluster, before);
  await takenUpTo(cluster, 'web-1');
  expect(theirs(cluster).spec.autohealing).toBeUndefined();
  await cluster.release();
  expect(theirs(cluster).spec).toMatchObject(before);
});

test('an earlier condition of virt-controller on a paused pool does not prove that it has stopped healing', async () => {
  const cluster = new Cluster();
  cluster.kubeVirtPool('web-0');
  changeTheirs(cluster, { paused: true, autohealing: {} });
  cluster.hasVirtController = false;
  await expect(cluster.takeOver()).rejects.toThrow(
    'virt-controller has not confirmed within 30 s that KubeVirt pool web is paused',
  );
  expect(cluster.membersOf(cluster.find(VirtualMachinePools)!)).toEqual([]);
  expect(theirs(cluster).spec).toMatchObject({ paused: true, autohealing: {} });
});
