import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { createHealActivities } from '../../../activities/healing/heal-vm.ts';
import type { Removal } from '../../../activities/healing/unhealthy-vm-remover.ts';
import type { Stored } from '../../../api/objects.ts';
import { identityOf } from '../../../api/owner-references.ts';
import type { Autohealing } from '../../../api/pool/pool.ts';
import {
  Events,
  PersistentVolumeClaims,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { healingRules } from '../../../api/rules/pool-defaults.ts';
import type { VirtualMachine } from '../../../decisions/from-object/vm.ts';
import type { UnhealthyVm } from '../../../decisions/healing/attempt.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { Fate } from '../../integration/chaos-proxy.ts';
import { aFleet } from '../../integration/fleet.ts';
import { withDisk } from '../../integration/healing/healings.ts';
import { eventually } from '../../wait-for.ts';
import { aWorkerCache, type WorkerCache } from '../cache/worker-cache.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

/** A worker that starts to watch now, behind an API server that treats each call as `fate` says. */
async function aWorker(fate?: (method: string, path: string) => Fate | Promise<Fate>): Promise<WorkerCache> {
  const workerCache = await aWorkerCache(cluster().stack.kubeconfig, fate);
  await workerCache.cache.start();
  return workerCache;
}

/** A pool with one VM, `web-1`, that has failed to start three times. Only the test acts on it. */
class Scene {
  readonly pool: StoredPool;
  readonly vm: Stored<VirtualMachine>;
  readonly replaced: string[] = [];
  /** A worker that has been watching since before the VM was created. */
  readonly worker: WorkerCache;

  private constructor(pool: StoredPool, vm: Stored<VirtualMachine>, worker: WorkerCache) {
    this.pool = pool;
    this.vm = vm;
    this.worker = worker;
  }

  static async make({
    autohealing = {},
    prepare,
  }: { autohealing?: Autohealing; prepare?: (namespace: string) => Promise<unknown> } = {}): Promise<Scene> {
    const worker = await aWorker();
    const namespace = await cluster().namespace();
    const pool = (await cluster().createPool(namespace, 'web', {
      autohealing,
      template: withDisk(),
    })) as unknown as StoredPool;
    await prepare?.(namespace);
    const made = await cluster().kube.create<VirtualMachine>(
      VirtualMachines,
      vmFromTemplate(pool, pool.spec.template, 1),
    );
    const context = new Scene(pool, made, worker);
    await eventually(() => expect(worker.cache.vmiHistories.of(identityOf(made))).not.toBeNull());
    await context.say({ printableStatus: 'CrashLoopBackOff', startFailure: { consecutiveFailCount: 3 } });
    return context;
  }

  async say(status: object): Promise<void> {
    await cluster().kube.patch(VirtualMachines, this.vm.metadata, 'merge', { status }, { subresource: 'status' });
  }

  /** Creates a ready VMI, without KubeVirt's update of the VM's status. */
  async comeUp(): Promise<void> {
    const { namespace, name, uid } = this.vm.metadata;
    const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid, controller: true };
    const vmi = await cluster().kube.create(VirtualMachineInstances, {
      metadata: { namespace: namespace!, name, ownerReferences: [owner] },
      spec: { domain: { devices: {} } },
    });
    await cluster().kube.patch(VirtualMachineInstances, vmi.metadata, 'merge', {
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }

  async change(patch: object): Promise<void> {
    await cluster().kube.patch(VirtualMachines, this.vm.metadata, 'merge', patch);
  }

  async changePool(patch: object): Promise<void> {
    await cluster().kube.patch(VirtualMachinePools, this.pool.metadata, 'merge', patch);
  }

  /** Removes the VM as a worker does; by default, the one that has watched from the beginning. */
  async remove(sick: Partial<UnhealthyVm> = {}, worker = this.worker): Promise<Removal> {
    const activities = createHealActivities({
      ...worker,
      concurrency: 8,
      onReplaced: ({ name }) => void this.replaced.push(name),
    });
    const { name, namespace, uid } = this.pool.metadata;
    const rules = healingRules({});
    const whole: UnhealthyVm = {
      name: 'web-1',
      uid: this.vm.metadata.uid,
      attempt: 1,
      message: 'it is sick',
      rules,
      mayHaveData: false,
      earlyExits: 0,
      ...sick,
    };
    return new MockActivityEnvironment().run((): Promise<Removal> =>
      activities.removeUnhealthyVm({ name, namespace, uid }, whole, Date.now()),
    );
  }

  now(): Promise<Stored<VirtualMachine>> {
    return cluster().kube.get<VirtualMachine>(VirtualMachines, this.vm.metadata);
  }

  async expectUntouched(): Promise<void> {
    const { metadata, spec } = await this.now();
    expect(metadata).toMatchObject({ uid: this.vm.metadata.uid });
    expect(metadata).not.toHaveProperty('deletionTimestamp');
    expect(metadata.annotations ?? {}).not.toHaveProperty('drover.dev/removing');
    expect(spec?.dataVolumeTemplates).toHaveLength(1);
    expect(this.replaced).toEqual([]);
  }

  /** `deleted`: after its dependents. `halted`: to be deleted later, without its disks. */
  async became(): Promise<'deleted' | 'halted' | 'neither'> {
    const { metadata, spec } = await this.now();
    if (metadata.finalizers?.includes('foregroundDeletion') === true) return 'deleted';
    return spec?.runStrategy === 'Halted' && metadata.annotations?.['drover.dev/removing'] === 'healing'
      ? 'halted'
      : 'neither';
  }
}

test('an unhealthy VM is deleted after its own objects; the pool reports it once, and the worker counts it', async () => {
  const context = await Scene.make();
  expect(await context.remove()).toMatchObject({ end: 'Removed', events: [] });
  expect(await context.became()).toBe('deleted');
  // Asked again, as if the answer was lost: the VM is already terminating.
  expect(await context.remove()).toMatchObject({ end: 'Removed', events: [] });
  expect(context.replaced).toEqual(['web']);
  const { items } = await cluster().kube.list(Events, { namespace: context.pool.metadata.namespace });
  expect(items).toMatchObject([
    { reason: 'Healing', note: 'Replaces web-1 with its disks (replacement 1): it is sick' },
  ]);
});

test.each<[string, (context: Scene) => Promise<void>, string]>([
  ['has recovered', (context) => context.say({ startFailure: null }), 'it is no longer unhealthy'],
  ['was stopped', (context) => context.change({ spec: { runStrategy: 'Halted' } }), 'it is no longer unhealthy'],
  [
    'waits for a node with room',
    (context) => context.say({ printableStatus: 'ErrorUnschedulable' }),
    'it waits (ErrorUnschedulable), and a new one would wait as well',
  ],
  [
    'was detached from its pool',
    (context) => context.change({ metadata: { ownerReferences: [] } }),
    'it has left the pool',
  ],
  [
    'is not to be disrupted',
    (context) => context.change({ metadata: { annotations: { 'drover.dev/do-not-disrupt': 'true' } } }),
    'its owner opted out of disruption',
  ],
  [
    'is being restored',
    (context) => context.say({ restoreInProgress: 'nightly' }),
    'a snapshot is restored to it (nightly)',
  ],
  [
    'is of a pool that heals no more',
    (context) => context.changePool({ spec: { autohealing: null } }),
    'autohealing is off',
  ],
  [
    'is of a pool that heals after more failures',
    (context) => context.changePool({ spec: { autohealing: { startupFailureThreshold: 4 } } }),
    'it is no longer unhealthy',
  ],
])('a VM is not deleted that meanwhile %s', async (_what, meanwhile, why) => {
  const context = await Scene.make();
  await meanwhile(context);
  const before = await context.now();
  expect(await context.remove()).toEqual({ end: 'Kept', message: why });
  expect((await context.now()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

test('a VM whose VMI comes up during the check of its disks is left as it is', async () => {
  const context = await Scene.make();
  await context.change({ metadata: { annotations: { 'drover.dev/never-ran': 'the-last' } } });
  await context.say({ startFailure: { consecutiveFailCount: 3, lastFailedVMIUID: 'the-last' } });
  let hasAsked = false;
  const worker = await aWorker(async (method, path): Promise<Fate> => {
    if (method !== 'GET' || !path.includes('/persistentvolumeclaims/') || hasAsked) return 'pass';
    hasAsked = true;
    await context.comeUp();
    return 'pass';
  });
  expect(await context.remove({}, worker)).toEqual({ end: 'Kept', message: 'it is no longer unhealthy' });
  expect(hasAsked).toBe(true);
  await context.expectUntouched();
});

test('a VM of a pool that is being deleted is not deleted', async () => {
  const context = await Scene.make();
  await context.changePool({ metadata: { finalizers: ['drover.dev/pool'] } });
  await cluster().kube.delete(VirtualMachinePools, context.pool.metadata);
  expect(await context.remove()).toEqual({ end: 'Kept', message: 'autohealing is off' });
  await context.expectUntouched();
});

test('a refused deletion by the API server returns the reason at once', async () => {
  const context = await Scene.make();
  const why = 'deletion is denied by a policy';
  const protectedBy = await aWorker((method, path) =>
    ['DELETE', 'PATCH'].includes(method) && path.includes('/web-1') ? { status: 403, message: why } : 'pass',
  );
  expect(await context.remove({}, protectedBy)).toEqual({ end: 'Refused', message: why });
  expect(await context.remove({ mayHaveData: true }, protectedBy)).toEqual({ end: 'Refused', message: why });
  await context.expectUntouched();
});

test('another VM of its name that was made since is not touched', async () => {
  const context = await Scene.make();
  expect(await context.remove({ uid: 'that-of-the-one-before' })).toMatchObject({ end: 'Removed', events: [] });
  await context.expectUntouched();
});

test.each([
  ['deleted', false],
  ['halted', true],
] as const)('a VM that changes in the moment before it is %s is looked at once more', async (_act, holdsData) => {
  const context = await Scene.make();
  let met = 0;
  const fate = async (method: string, path: string): Promise<Fate> => {
    const isAct = ['DELETE', 'PATCH'].includes(method) && path.includes('/virtualmachines/web-1');
    if (isAct && ++met === 1)
      await context.change({ metadata: { annotations: { 'drover.dev/do-not-disrupt': 'true' } } });
    return 'pass';
  };
  expect(await context.remove({ mayHaveData: holdsData }, await aWorker(fate))).toEqual({
    end: 'Kept',
    message: 'its owner opted out of disruption',
  });
  expect(met).toBe(1);
  await context.expectUntouched();
});

const aClaim = (namespace: string): Promise<unknown> =>
  cluster().kube.create(PersistentVolumeClaims, {
    metadata: { namespace, name: 'disk-1' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });

test.each<[string, Autohealing, boolean, 'deleted' | 'halted']>([
  ['has run keeps its disks', {}, true, 'halted'],
  ['has run loses its disks if the pool says so', { preserveStorage: false }, true, 'deleted'],
  ['has never run keeps its disks if the pool says so', { preserveStorage: true }, false, 'halted'],
])('a VM that %s', async (_what, autohealing, holdsData, became) => {
  const context = await Scene.make({ autohealing });
  expect(await context.remove({ mayHaveData: holdsData })).toMatchObject({ end: 'Removed' });
  expect(await context.became()).toBe(became);
});

test('a VM that has never run keeps a disk that is older than itself, and loses one of its own', async () => {
  const older = await Scene.make({
    prepare: async (namespace) => {
      await aClaim(namespace);
      // Kubernetes' timestamps have no fractions of a second.
      await sleep(1_100);
    },
  });
  await older.remove();
  expect(await older.became()).toBe('halted');
  const own = await Scene.make();
  await aClaim(own.pool.metadata.namespace);
  await own.remove();
  expect(await own.became()).toBe('deleted');
});

test.each<[string, object, 'deleted' | 'halted']>([
  ['keeps its disks: nobody was there to see it run', {}, 'halted'],
  [
    'keeps its disks, if starts have failed since that nobody followed',
    { mark: 'first', lastFailedVMIUID: 'third' },
    'halted',
  ],
  [
    'loses them, if KubeVirt still speaks of the start up to which nothing had run',
    { mark: 'third', lastFailedVMIUID: 'third' },
    'deleted',
  ],
])(
  'a VM that ran while no worker was watching %s',
  async (_what, { mark = '', ...failure }: { mark?: string; lastFailedVMIUID?: string }, became) => {
    const context = await Scene.make();
    await context.change({ metadata: { annotations: { 'drover.dev/never-ran': mark } } });
    await context.say({ startFailure: { consecutiveFailCount: 3, ...failure } });
    await context.remove({}, await aWorker());
    expect(await context.became()).toBe(became);
  },
);

test('a VM keeps its disks if the worker has not heard of the VMI that KubeVirt reports', async () => {
  const context = await Scene.make();
  await context.say({ startFailure: { consecutiveFailCount: 3, lastFailedVMIUID: 'of-a-watch-that-lags' } });
  await context.remove();
  expect(await context.became()).toBe('halted');
});

test.each<[string, object, 'deleted' | 'halted']>([
  [
    'ran keeps its disks, though nobody has noted that',
    [{ phase: 'Running', phaseTransitionTimestamp: '2026-01-02T03:04:05Z' }],
    'halted',
  ],
  ['never came to run loses them', [], 'deleted'],
])('a VM whose VMI, deleted since, %s', async (_what, phaseTransitionTimestamps, became) => {
  const context = await Scene.make();
  const { namespace, name, uid } = context.vm.metadata;
  const vmi = await cluster().kube.create(VirtualMachineInstances, {
    metadata: {
      namespace: namespace!,
      name,
      ownerReferences: [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid, controller: true }],
    },
    spec: { domain: { devices: {} } },
  });
  await cluster().kube.patch(VirtualMachineInstances, vmi.metadata, 'merge', {
    status: { phase: 'Scheduled', phaseTransitionTimestamps },
  });
  await cluster().kube.delete(VirtualMachineInstances, vmi.metadata);
  await eventually(() =>
    expect(context.worker.cache.vmiHistories.of(identityOf(context.vm))).toMatchObject({ lastEnded: vmi.metadata.uid }),
  );
  await context.remove();
  expect(await context.became()).toBe(became);
});

const markOf = async (context: Scene): Promise<string | undefined> =>
  (await context.now()).metadata.annotations?.['drover.dev/never-ran'];

test('a VM that runs well is recorded as such, and another that took its name is not', async () => {
  const context = await Scene.make();
  const activities = createHealActivities({ ...context.worker, concurrency: 8 });
  const note = (uid: string): Promise<void> => {
    const notes = [
      { name: 'web-1', uid, resourceVersion: '1', start: null },
      { name: 'gone', uid, resourceVersion: '1', start: null },
    ];
    return new MockActivityEnvironment().run(() => activities.annotateRuns(context.pool.metadata, notes));
  };
  await note('that-of-the-one-before');
  expect(await markOf(context)).toBe('');
  await note(context.vm.metadata.uid);
  expect(await markOf(context)).toBeUndefined();
});

test('a VM that has left its pool since it was seen gets no note', async () => {
  const context = await Scene.make();
  const { name, uid, resourceVersion } = context.vm.metadata;
  await cluster().kube.patch(VirtualMachines, context.vm.metadata, 'merge', { metadata: { ownerReferences: null } });
  const activities = createHealActivities({ ...context.worker, concurrency: 8 });
  const notes = [{ name, uid, resourceVersion, start: null }];
  await new MockActivityEnvironment().run(() => activities.annotateRuns(context.pool.metadata, notes));
  expect(await markOf(context)).toBe('');
});

test('a note that is refused for one VM holds up no other', async () => {
  const context = await Scene.make();
  const { namespace } = context.pool.metadata;
  const others = await Promise.all(
    [2, 3].map((number) =>
      cluster().kube.create<VirtualMachine>(
        VirtualMachines,
        vmFromTemplate(context.pool, context.pool.spec.template, number),
      ),
    ),
  );
  const worker = await aWorker((method, path) =>
    method === 'PATCH' && path.includes('/web-1') ? { status: 403, message: 'denied by a policy' } : 'pass',
  );
  const notes = [context.vm, ...others].map(({ metadata: { name, uid, resourceVersion } }) => ({
    name,
    uid,
    resourceVersion,
    start: null,
  }));
  await new MockActivityEnvironment().run(() =>
    createHealActivities({ ...worker, concurrency: 8 }).annotateRuns(context.pool.metadata, notes),
  );
  const marks = (await cluster().kube.list(VirtualMachines, { namespace })).items.map(
    ({ metadata }) => metadata.annotations?.['drover.dev/never-ran'],
  );
  expect(marks).toEqual(['', undefined, undefined]);
});
