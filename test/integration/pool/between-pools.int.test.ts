import { expect, test } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims, VirtualMachinePools } from '../../../api/resources.ts';
import { aFleet, until } from '../fleet.ts';
import { withDisk } from '../healing/healings.ts';
import { TestPool } from '../rollout/rollouts.ts';

const fleet = aFleet();

const claimsIn = async (namespace: string): Promise<Record<string, string>> => {
  const { items } = await fleet().kube.list(PersistentVolumeClaims, { namespace });
  return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.uid]));
};

test('a pool whose disks would have the names of another pool takes none of them, says whose they are, and deletes none', async () => {
  const first = await TestPool.ready(fleet(), { replicas: 2, template: withDisk() });
  const { namespace } = first;
  const before = { vmis: await first.vmis(), claims: await claimsIn(namespace) };
  expect(Object.keys(before.claims).sort()).toEqual(['disk-1', 'disk-2']);

  await fleet().createPool(namespace, 'db', { replicas: 1, template: withDisk() });
  const said = async (): Promise<string | undefined> =>
    (await fleet().condition(namespace, 'db', 'ReplicaFailure'))?.message;
  await until(async () =>
    expect(await said()).toMatch(/^db-1 is not created: PersistentVolumeClaim disk-1 belongs to VirtualMachine web-1/),
  );
  expect(await fleet().vmNames(namespace, 'db')).toEqual([]);

  await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'db' }, { propagationPolicy: 'Foreground' });
  await until(async () => expect(await fleet().pool(namespace, 'db')).toBeUndefined());
  expect({ vmis: await first.vmis(), claims: await claimsIn(namespace) }).toEqual(before);
  for (const { metadata } of (await fleet().kube.list(DataVolumes, { namespace })).items)
    expect(metadata.deletionTimestamp).toBeUndefined();
});

test('a claim that was there before is neither used nor deleted: only its VM is not made, and says why', async () => {
  const namespace = await fleet().namespace();
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const claim: KubeObject & { spec: object } = { metadata: { namespace, name: 'disk-1' }, spec };
  const { metadata } = await fleet().kube.create(PersistentVolumeClaims, claim);
  await fleet().createPool(namespace, 'web', { replicas: 3, template: withDisk() });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toEqual(['web-2', 'web-3']));
  const why = 'web-1 is not created: PersistentVolumeClaim disk-1 already exists, and was not kept for this VM';
  const failure = () => fleet().condition(namespace, 'web', 'ReplicaFailure');
  await until(async () => expect((await failure())?.message).toContain(why));
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: 2 }));
  expect(await fleet().vmNames(namespace, 'web')).toEqual(['web-2', 'web-3']);

  await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' }, { propagationPolicy: 'Foreground' });
  await until(async () => expect(await claimsIn(namespace)).toEqual({ 'disk-1': metadata.uid }));
});
