import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, test } from 'vitest';
import { DisruptionClaims } from '../../../activities/disruption-budget/disruption-claims.ts';
import type { PoolKey } from '../../../activities/owners/owner-key.ts';
import { clearNamedRemovals } from '../../../activities/pool/clear-named-removals.ts';
import { createPoolActivities, type PoolActivities } from '../../../activities/pool/pool.ts';
import { Revisions } from '../../../activities/rollout/revisions.ts';
import {
  PROTECT_ANNOTATION,
  REMOVE_VMS_ANNOTATION,
  REMOVING_ANNOTATION,
  REMOVING_TO_HEAL,
} from '../../../api/labels-and-annotations.ts';
import { VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import type { Target, RemovalCause } from '../../../decisions/owners/steps.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { deny } from '../../integration/admission-policy.ts';
import { aFleet } from '../../integration/fleet.ts';
import { aWorkerCache } from '../cache/worker-cache.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

/** The pools of these tests want no VMs, and their specs have not changed since. */
const surplus: RemovalCause = { because: 'Surplus', generation: 1, others: [] };
const atRest: RemovalCause = { ...surplus, because: 'SurplusHalted' };

type Removal = (activities: PoolActivities, key: PoolKey, vm: Target) => Promise<unknown>;
const removals = {
  'deletes it': (activities, key, vm) => activities.deleteVms(key, [vm], false, surplus),
  'halts it': (activities, key, vm) => activities.haltVms(key, [vm], surplus),
} satisfies Record<string, Removal>;

/** Returns what a worker does to a VM that it should remove, if the VM has undergone `change` since the plan. */
async function afterwards(
  change: object,
  remove: Removal,
  spec: object = { runStrategy: 'Always' },
  isDeletable = true,
): Promise<'gone' | 'halted' | 'halted, to be healed' | 'untouched'> {
  const namespace = await cluster().namespace();
  const pool = (await cluster().createPool(namespace, 'web', { replicas: 0 })) as unknown as StoredPool;
  const { kube } = cluster();
  const vm = vmFromTemplate(pool, pool.spec.template, 1);
  const { metadata: seen } = await kube.create(VirtualMachines, { ...vm, spec: { ...vm.spec, ...spec } });
  const workerCache = await aWorkerCache(cluster().stack.kubeconfig);
  await workerCache.cache.start();
  if (!isDeletable)
    await deny(kube, {
      namespace,
      operation: 'DELETE',
      expression: 'false',
      message: 'none is deleted here',
      tried: () => kube.delete(VirtualMachines, seen, { dryRun: true }),
    });
  const changed = await kube.patch(VirtualMachines, seen, 'merge', { metadata: change });
  const activities = createPoolActivities({
    claims: new DisruptionClaims(workerCache.client, workerCache.cache),
    ...workerCache,
    revisions: new Revisions(workerCache),
    burst: 250,
    concurrency: 8,
  });
  const { name, uid, resourceVersion } = seen;
  await new MockActivityEnvironment().run(() =>
    remove(activities, { namespace, name: 'web', uid: pool.metadata.uid }, { name, uid, resourceVersion }),
  );
  const now = await ignoreNotFound(kube.get(VirtualMachines, seen));
  if (now?.metadata.deletionTimestamp !== undefined || now === undefined) return 'gone';
  const mark = now.metadata.annotations?.[REMOVING_ANNOTATION];
  if (mark !== undefined) return mark === REMOVING_TO_HEAL ? 'halted, to be healed' : 'halted';
  expect(now.metadata).toEqual(changed.metadata);
  return 'untouched';
}

test.each(Object.entries(removals))(
  'a VM that its pool has released since is not touched by what %s',
  async (_how, remove) => {
    expect(await afterwards({ ownerReferences: [] }, remove)).toBe('untouched');
  },
);

test.each(Object.entries(removals))(
  'a VM that has changed since, and still belongs to the pool, is taken by what %s',
  async (how, remove) => {
    expect(await afterwards({ labels: { tier: 'web' } }, remove)).toBe(how === 'halts it' ? 'halted' : 'gone');
  },
);

const haltAgain: Removal = (activities, key, vm) => activities.haltVms(key, [vm], { because: 'Annotated' });

test('a VM that healing has halted, and a user has started, is halted again and stays in healing', async () => {
  const outcome = await afterwards({ annotations: { [REMOVING_ANNOTATION]: REMOVING_TO_HEAL } }, haltAgain);
  expect(outcome).toBe('halted, to be healed');
});

const protection = (value: string) => ({ annotations: { [PROTECT_ANNOTATION]: value } });

test.each([
  ['deletes it', 'untouched'],
  ['halts it', 'untouched'],
] as const)('a VM that was protected after the plan is, by what %s, %s', async (how, outcome) => {
  expect(await afterwards(protection('yes, please'), removals[how])).toBe(outcome);
});

test.each(Object.entries(removals))(
  'a VM whose deletion a policy refuses is not touched by what %s',
  async (_how, remove) => {
    expect(await afterwards({}, remove, undefined, false)).toBe('untouched');
  },
);

test('a VM whose protection says "false" leaves', async () => {
  expect(await afterwards(protection('false'), removals['deletes it'])).toBe('gone');
});

test.each([
  ['deletes it', (activities, key, vm) => activities.deleteVms(key, [vm], false, atRest)],
  ['halts it', (activities, key, vm) => activities.haltVms(key, [vm], atRest)],
] as [string, Removal][])(
  'a VM that was to leave while it is at rest, and has changed since, is not touched by what %s',
  async (_how, remove) => {
    expect(await afterwards({ labels: { tier: 'web' } }, remove)).toBe('untouched');
  },
);

test('a VM that is released while it leaves has no label left that a later pool would delete it for, and stays halted', async () => {
  const { kube } = cluster();
  const namespace = await cluster().namespace();
  const pool = (await cluster().createPool(namespace, 'web', { replicas: 1 })) as unknown as StoredPool;
  const vm = vmFromTemplate(pool, pool.spec.template, 1);
  const annotations = { ...vm.metadata.annotations, [REMOVING_ANNOTATION]: 'true', 'shop.example/team': 'web' };
  const leaving = { ...vm, metadata: { ...vm.metadata, annotations }, spec: { ...vm.spec, runStrategy: 'Halted' } };
  const { metadata } = await kube.create(VirtualMachines, leaving);
  await kube.delete(VirtualMachinePools, { namespace, name: 'web' }, { propagationPolicy: 'Orphan' });
  const workerCache = await aWorkerCache(cluster().stack.kubeconfig);
  const { releaseVms } = createPoolActivities({
    claims: new DisruptionClaims(workerCache.client, workerCache.cache),
    ...workerCache,
    revisions: new Revisions(workerCache),
    burst: 250,
    concurrency: 8,
  });
  const { name, uid, resourceVersion } = metadata;
  await new MockActivityEnvironment().run(() =>
    releaseVms({ namespace, name: 'web', uid: pool.metadata.uid }, [{ name, uid, resourceVersion }]),
  );
  const released = await kube.get(VirtualMachines, metadata);
  expect(released.metadata.ownerReferences ?? []).toEqual([]);
  expect(released.metadata.annotations).not.toHaveProperty([REMOVING_ANNOTATION]);
  expect(released.metadata.annotations).toHaveProperty(['shop.example/team'], 'web');
  expect(released['spec']).toMatchObject({ runStrategy: 'Halted' });
});

test('a VM is removed from the list of named removals only once the API server says that the pool no longer has it', async () => {
  const { kube } = cluster();
  const namespace = await cluster().namespace();
  const pool = (await cluster().createPool(namespace, 'web', { replicas: 0 })) as unknown as StoredPool;
  const [there, detached] = await Promise.all(
    [1, 2].map((number) => kube.create(VirtualMachines, vmFromTemplate(pool, pool.spec.template, number))),
  );
  await kube.patch(VirtualMachines, detached!.metadata, 'merge', { metadata: { ownerReferences: null } });
  const named = {
    'web-1': there!.metadata.uid,
    'web-2': detached!.metadata.uid,
    'web-3': 'gone',
    'web-4': 'nobody asked',
  };
  const key = { namespace, name: 'web', uid: pool.metadata.uid };
  const annotations = { [REMOVE_VMS_ANNOTATION]: JSON.stringify(named) };
  await kube.patch(VirtualMachinePools, key, 'merge', { metadata: { annotations } });
  const gone = ['web-1', 'web-2', 'web-3'].map((name) => ({ name, uid: named[name as keyof typeof named] }));
  const forget = () => inActivity(() => clearNamedRemovals(kube, key, gone, 4));
  const minVersions = await forget();
  const after = await kube.get(VirtualMachinePools, key);
  expect(JSON.parse(after.metadata.annotations![REMOVE_VMS_ANNOTATION]!)).toEqual({
    'web-1': there!.metadata.uid,
    'web-4': 'nobody asked',
  });
  expect(minVersions.pools).toBe(after.metadata.resourceVersion);
  await forget();
  expect((await kube.get(VirtualMachinePools, key)).metadata.resourceVersion).toBe(after.metadata.resourceVersion);
});

const keepsDisks: Removal = (activities, key, vm) => activities.deleteVms(key, [vm], true, surplus);
const halted = { runStrategy: 'Halted' };

test('a VM whose disks are kept is deleted only as it was planned', async () => {
  expect(await afterwards({ labels: { tier: 'web' } }, keepsDisks, halted)).toBe('untouched');
  expect(await afterwards({}, keepsDisks, halted)).toBe('gone');
  expect(await afterwards({}, keepsDisks)).toBe('untouched');
});

interface LateScene {
  activities: PoolActivities;
  key: PoolKey;
  targets: Target[];
  /** The pool's generation at the time of the plan. */
  generation: number;
  /** Names of the existing VMs. */
  names: () => Promise<string[]>;
  replicas: (count: number) => Promise<unknown>;
}

/** A pool of three that was scaled to `planned`, as seen by a plan that has not been carried out yet. */
async function late(planned: number): Promise<LateScene> {
  const namespace = await cluster().namespace();
  const { kube } = cluster();
  const pool = (await cluster().createPool(namespace, 'web', { replicas: 3 })) as unknown as StoredPool;
  const vms = await Promise.all(
    [1, 2, 3].map((number) => kube.create(VirtualMachines, vmFromTemplate(pool, pool.spec.template, number))),
  );
  const workerCache = await aWorkerCache(cluster().stack.kubeconfig);
  await workerCache.cache.start();
  const { metadata } = await cluster().patchPool(namespace, 'web', { replicas: planned });
  return {
    activities: createPoolActivities({
      ...workerCache,
      claims: new DisruptionClaims(workerCache.client, workerCache.cache),
      revisions: new Revisions(workerCache),
      burst: 250,
      concurrency: 8,
    }),
    key: { namespace, name: 'web', uid: pool.metadata.uid },
    targets: vms.map(({ metadata: { name, uid, resourceVersion } }) => ({ name, uid, resourceVersion })),
    generation: metadata.generation!,
    names: () => cluster().vmNames(namespace, 'web'),
    replicas: (count) => cluster().patchPool(namespace, 'web', { replicas: count }),
  };
}

const inActivity = <T>(act: () => Promise<T>): Promise<T> => new MockActivityEnvironment().run(act) as Promise<T>;
const waysOut = {
  deleteVms: (context: LateScene, departure: RemovalCause, vms = context.targets) =>
    inActivity(() => context.activities.deleteVms(context.key, vms, false, departure)),
  haltVms: (context: LateScene, departure: RemovalCause, vms = context.targets) =>
    inActivity(() => context.activities.haltVms(context.key, vms, departure)),
};
const isHalted = async ({ key }: LateScene): Promise<boolean> =>
  (await cluster().vms(key.namespace)).some((vm) => vm.metadata.annotations?.[REMOVING_ANNOTATION] !== undefined);

describe.each(Object.entries(waysOut))('%s, if it comes late,', (_what, takeOut) => {
  test('deletes nothing if the pool has been scaled back, even via another number', async () => {
    const context = await late(0);
    await context.replicas(3);
    const done = await takeOut(context, { because: 'Surplus', generation: context.generation, others: [] });
    expect(done).toMatchObject({ count: 0, refused: null });
    expect(done.notWanted.toSorted()).toEqual(['web-1', 'web-2', 'web-3']);
    expect(await context.names()).toHaveLength(3);
    expect(await isHalted(context)).toBe(false);
    // The next plan must see the spec because of which this one was called off.
    expect(BigInt(done.minVersions.pools!)).toBeGreaterThanOrEqual(
      BigInt((await cluster().pool(context.key.namespace, 'web'))!.metadata.resourceVersion),
    );
  });

  test('leaves as many VMs as the spec wants, even if users or other steps of the plan delete VMs too', async () => {
    const context = await late(1);
    const departure: RemovalCause = { because: 'Surplus', generation: context.generation, others: ['web-3'] };
    expect(await takeOut(context, departure, context.targets.slice(0, 2))).toMatchObject({ count: 0 });
    expect(await isHalted(context)).toBe(false);
    expect(await takeOut(context, departure, context.targets.slice(0, 1))).toMatchObject({ count: 1, notWanted: [] });
  });

  test('deletes nothing if the pool is not being deleted after all, or no longer exists', async () => {
    const context = await late(3);
    expect(await takeOut(context, { because: 'OwnerDeleted' })).toMatchObject({ count: 0 });
    await cluster().kube.delete(VirtualMachinePools, context.key);
    expect(await takeOut(context, { because: 'Surplus', generation: context.generation, others: [] })).toMatchObject({
      count: 0,
    });
    expect(await context.names()).toHaveLength(3);
    expect(await isHalted(context)).toBe(false);
  });
});

describe('createVms, if it comes late,', () => {
  test('creates nothing if the spec has changed since, or the pool is being deleted', async () => {
    const context = await late(5);
    const revision = revisionOf((await cluster().pool(context.key.namespace, 'web'))!.spec.template);
    const create = () =>
      inActivity(() =>
        context.activities.createVms(context.key, [4, 5], revision, {}, { generation: context.generation }),
      );
    await context.replicas(3);
    expect(await create()).toMatchObject({ count: 0, notWanted: ['web-4', 'web-5'], refused: null });
    await cluster().kube.delete(VirtualMachinePools, context.key);
    expect(await create()).toMatchObject({ count: 0, notWanted: ['web-4', 'web-5'], refused: null });
    expect(await context.names()).toHaveLength(3);
  });

  test('makes VMs in place of others only as long as the pool would have fewer than it wants', async () => {
    const context = await late(5);
    const revision = revisionOf((await cluster().pool(context.key.namespace, 'web'))!.spec.template);
    await context.replicas(4);
    const done = await inActivity(() =>
      context.activities.createVms(context.key, [4, 5, 6], revision, {}, { skipSlowStart: true }),
    );
    expect(done).toMatchObject({ count: 1, refused: null });
    expect(done.notWanted).toHaveLength(2);
    expect(await context.names()).toHaveLength(4);
  });
});
