import { expect, test } from 'vitest';
import { DataVolumes, PersistentVolumeClaims, VirtualMachinePools } from '../../kubernetes/resources.ts';
import { revisionOf } from '../../decisions/revision.ts';
import type { KubeObject } from '../../kubernetes/objects.ts';
import { aFleet, until } from './fleet.ts';
import { withDisk } from './healings.ts';
import { badTemplate, templateOf, TestPool } from './rollouts.ts';

const fleet = aFleet();

const claimsIn = async (namespace: string): Promise<Record<string, string>> => {
  const { items } = await fleet().kube.list(PersistentVolumeClaims, { namespace });
  return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.uid]));
};

test('a pool whose disks would have the names of another pool takes none of them, says whose they are, and deletes none', async () => {
  const first = await TestPool.ready(fleet(), { replicas: 2, template: withDisk() });
  const { namespace } = first;
  const before = { guests: await first.guests(), claims: await claimsIn(namespace) };
  expect(Object.keys(before.claims).sort()).toEqual(['disk-1', 'disk-2']);

  await fleet().createPool(namespace, 'db', { replicas: 1, template: withDisk() });
  const said = async (): Promise<string | undefined> => (await fleet().condition(namespace, 'db', 'ReplicaFailure'))?.message;
  await until(async () => expect(await said()).toMatch(/^db-1 is not made: pool web has disk templates/));
  expect(await fleet().vmNames(namespace, 'db')).toEqual([]);

  await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'db' }, { propagationPolicy: 'Foreground' });
  await until(async () => expect(await fleet().pool(namespace, 'db')).toBeUndefined());
  expect({ guests: await first.guests(), claims: await claimsIn(namespace) }).toEqual(before);
  for (const { metadata } of (await fleet().kube.list(DataVolumes, { namespace })).items) expect(metadata.deletionTimestamp).toBeUndefined();
});

test('a claim that was there before is neither used nor deleted: its VM alone is not made, and says why', async () => {
  const namespace = await fleet().namespace();
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const claim: KubeObject & { spec: object } = { metadata: { namespace, name: 'disk-1' }, spec };
  const { metadata } = await fleet().kube.create(PersistentVolumeClaims, claim);
  await fleet().createPool(namespace, 'web', { replicas: 3, template: withDisk() });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toEqual(['web-2', 'web-3']));
  const why = 'web-1 is not made: PersistentVolumeClaim disk-1 is there already, and was not kept for this VM';
  const failure = () => fleet().condition(namespace, 'web', 'ReplicaFailure');
  await until(async () => expect((await failure())?.message).toContain(why));
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: 2 }));
  expect(await fleet().vmNames(namespace, 'web')).toEqual(['web-2', 'web-3']);

  await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' }, { propagationPolicy: 'Foreground' });
  await until(async () => expect(await claimsIn(namespace)).toEqual({ 'disk-1': metadata.uid }));
});

test('a pool that is made anew under its name begins with no pause, no failures and no healing of the old one', async () => {
  const old = await TestPool.ready(fleet(), { replicas: 2, rollout: { progressDeadlineSeconds: 2 }, autohealing: {} });
  await old.change(badTemplate(2));
  await old.untilSaid({ Progressing: 'Failed' });
  await old.workflow.signal('pause', { by: 'ada', why: 'incident 42' });
  await old.workflow.signal('healPause', { by: 'ada' });
  await old.untilSaid({ Paused: 'PausedByPerson' });
  await until(async () => expect((await old.status()).healing?.paused).toMatchObject({ by: 'ada' }));

  const { namespace } = old;
  await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' }, { propagationPolicy: 'Foreground' });
  await until(async () => expect(await fleet().pool(namespace, 'web')).toBeUndefined());
  await fleet().createPool(namespace, 'web', { replicas: 2, template: templateOf(), autohealing: {} });
  const anew = TestPool.of(fleet(), namespace);
  await anew.untilComplete(revisionOf(templateOf()));
  const { rollout, healing } = await anew.status();
  expect(rollout).toMatchObject({ batches: 0, failures: [] });
  expect(rollout).not.toHaveProperty('paused');
  expect(rollout).not.toHaveProperty('halted');
  expect(healing?.paused).toBeUndefined();
  const next = await anew.change(templateOf({ cores: 2 }));
  await anew.untilComplete(next);
});
