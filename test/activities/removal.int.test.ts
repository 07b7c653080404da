import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { createPoolActivities, type PoolActivities, type PoolKey } from '../../activities/pool.ts';
import { Revisions } from '../../activities/revisions.ts';
import { REMOVING_ANNOTATION } from '../../api/names.ts';
import type { Target } from '../../decisions/pool-plan.ts';
import { vmFromTemplate, type StoredPool } from '../../decisions/vm-from-template.ts';
import { orNothing } from '../../kubernetes/errors.ts';
import { VirtualMachines } from '../../kubernetes/resources.ts';
import { aFleet } from '../fleet/fleet.ts';
import { aPicture } from './a-picture.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

type Removal = (activities: PoolActivities, key: PoolKey, vm: Target) => Promise<unknown>;
const removals = {
  'deletes it': (activities, key, vm) => activities.deleteVms(key, [vm], false),
  'halts it': (activities, key, vm) => activities.haltVms(key, [vm]),
  'replaces it': (activities, key, vm) => collected(activities.removeVms(key, [vm]), { namespace: key.namespace, name: vm.name }),
} satisfies Record<string, Removal>;

/** The VM goes once nothing holds it, as it does where a garbage collector is. */
async function collected<T>(removing: Promise<T>, key: { namespace: string; name: string }): Promise<T> {
  let isOver = false;
  const removed = removing.finally(() => (isOver = true));
  while (!isOver) {
    const vm = await orNothing(cluster().kube.get(VirtualMachines, key));
    if (vm?.metadata.deletionTimestamp !== undefined) await orNothing(cluster().kube.patch(VirtualMachines, key, 'merge', { metadata: { finalizers: null } }));
    await sleep(50);
  }
  return removed;
}

/** A VM of a pool as a plan has seen it, what has become of it since, and how it stands once a worker has done with it as planned. */
async function afterwards(change: object, remove: Removal): Promise<'gone' | 'halted' | 'untouched'> {
  const namespace = await cluster().namespace();
  const pool = (await cluster().createPool(namespace, 'web', { replicas: 1 })) as unknown as StoredPool;
  const { kube } = cluster();
  const vm = vmFromTemplate(pool, pool.spec.template, 1);
  const { metadata: seen } = await kube.create(VirtualMachines, { ...vm, spec: { ...vm.spec, runStrategy: 'Always' } });
  const picture = await aPicture(cluster().stack.kubeconfig);
  await picture.fleet.start();
  const changed = await kube.patch(VirtualMachines, seen, 'merge', { metadata: change });
  const activities = createPoolActivities({ ...picture, revisions: new Revisions(picture), burst: 250, concurrency: 8 });
  const { name, uid, resourceVersion } = seen;
  await new MockActivityEnvironment().run(() => remove(activities, { namespace, name: 'web', uid: pool.metadata.uid }, { name, uid, resourceVersion }));
  const now = await orNothing(kube.get(VirtualMachines, seen));
  if (now?.metadata.deletionTimestamp !== undefined || now === undefined) return 'gone';
  if (now.metadata.annotations?.[REMOVING_ANNOTATION] === 'true') return 'halted';
  expect(now.metadata).toEqual(changed.metadata);
  return 'untouched';
}

test.each(Object.entries(removals))('a VM that its pool has let go of since is not touched by what %s', async (_how, remove) => {
  expect(await afterwards({ ownerReferences: [] }, remove)).toBe('untouched');
});

test.each(Object.entries(removals))('a VM that has changed since, and is still the pool\'s, is taken by what %s', async (how, remove) => {
  expect(await afterwards({ labels: { tier: 'web' } }, remove)).toBe(how === 'halts it' ? 'halted' : 'gone');
});

const keepsDisks: Removal = (activities, key, vm) => activities.deleteVms(key, [vm], true);

test('a VM whose disks are kept is deleted only as it was planned', async () => {
  expect(await afterwards({ labels: { tier: 'web' } }, keepsDisks)).toBe('untouched');
  expect(await afterwards({}, keepsDisks)).toBe('gone');
});
