import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { createHealActivities, type Removal } from '../../activities/heal.ts';
import type { VirtualMachine } from '../../activities/vm-view.ts';
import { healingRules } from '../../api/pool-defaults.ts';
import type { Autohealing } from '../../api/pool.ts';
import type { SickVm } from '../../decisions/healing-state.ts';
import { vmFromTemplate, type StoredPool } from '../../decisions/vm-from-template.ts';
import type { Stored } from '../../kubernetes/objects.ts';
import { Events, PersistentVolumeClaims, VirtualMachinePools, VirtualMachines } from '../../kubernetes/resources.ts';
import type { Fate } from '../fleet/chaos-proxy.ts';
import { aFleet } from '../fleet/fleet.ts';
import { withDisk } from '../fleet/healings.ts';
import { aPicture } from './a-picture.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

/** A pool with one VM, `web-1`, that has failed to start three times; nobody but the test acts on it. */
class Scene {
  readonly pool: StoredPool;
  readonly vm: Stored<VirtualMachine>;
  readonly replaced: string[] = [];

  private constructor(pool: StoredPool, vm: Stored<VirtualMachine>) {
    this.pool = pool;
    this.vm = vm;
  }

  static async make({ autohealing = {}, prepare }: { autohealing?: Autohealing; prepare?: (namespace: string) => Promise<unknown> } = {}): Promise<Scene> {
    const namespace = await cluster().namespace();
    const pool = (await cluster().createPool(namespace, 'web', { autohealing, template: withDisk() })) as unknown as StoredPool;
    await prepare?.(namespace);
    const made = await cluster().kube.create<VirtualMachine>(VirtualMachines, vmFromTemplate(pool, pool.spec.template, 1));
    const scene = new Scene(pool, made);
    await scene.say({ printableStatus: 'CrashLoopBackOff', startFailure: { consecutiveFailCount: 3 } });
    return scene;
  }

  async say(status: object): Promise<void> {
    await cluster().kube.patch(VirtualMachines, this.vm.metadata, 'merge', { status }, { subresource: 'status' });
  }

  async change(patch: object): Promise<void> {
    await cluster().kube.patch(VirtualMachines, this.vm.metadata, 'merge', patch);
  }

  async changePool(patch: object): Promise<void> {
    await cluster().kube.patch(VirtualMachinePools, this.pool.metadata, 'merge', patch);
  }

  /** What a worker does that is asked to remove it, behind a server that does with each call what `fate` says. */
  async remove(sick: Partial<SickVm> = {}, fate?: (method: string, path: string) => Promise<Fate>): Promise<Removal> {
    const picture = await aPicture(cluster().stack.kubeconfig, fate);
    await picture.fleet.start();
    const activities = createHealActivities({ ...picture, concurrency: 8, onReplaced: ({ name }) => void this.replaced.push(name) });
    const { name, namespace, uid } = this.pool.metadata;
    const rules = healingRules({});
    const whole: SickVm = { name: 'web-1', uid: this.vm.metadata.uid, attempt: 1, why: 'it is sick', rules, holdsData: false, earlyEnds: 0, ...sick };
    return new MockActivityEnvironment().run((): Promise<Removal> => activities.removeSickVm({ name, namespace, uid }, whole, Date.now()));
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

  /** Deleted after what it owns; or halted, to be deleted without its disks. */
  async became(): Promise<'deleted' | 'halted' | 'neither'> {
    const { metadata, spec } = await this.now();
    if (metadata.finalizers?.includes('foregroundDeletion') === true) return 'deleted';
    return spec?.runStrategy === 'Halted' && metadata.annotations?.['drover.dev/removing'] === 'true' ? 'halted' : 'neither';
  }
}

test('a sick VM is deleted after what it owns; the pool says so once, and the worker counts it', async () => {
  const scene = await Scene.make();
  expect(await scene.remove()).toEqual({ end: 'Removed', events: [] });
  expect(await scene.became()).toBe('deleted');
  // Asked again, since its answer was lost: it goes already.
  expect(await scene.remove()).toEqual({ end: 'Removed', events: [] });
  expect(scene.replaced).toEqual(['web']);
  const { items } = await cluster().kube.list(Events, { namespace: scene.pool.metadata.namespace });
  expect(items).toMatchObject([{ reason: 'Healing', note: 'Replaces web-1 with its disks (replacement 1): it is sick' }]);
});

test.each<[string, (scene: Scene) => Promise<void>, string]>([
  ['has recovered', (scene) => scene.say({ startFailure: null }), 'it is no longer sick'],
  ['was stopped', (scene) => scene.change({ spec: { runStrategy: 'Halted' } }), 'it is no longer sick'],
  ['waits for a node with room', (scene) => scene.say({ printableStatus: 'ErrorUnschedulable' }), 'it is no longer sick'],
  ['was detached from its pool', (scene) => scene.change({ metadata: { ownerReferences: [] } }), 'it has left the pool'],
  ['is not to be disrupted', (scene) => scene.change({ metadata: { annotations: { 'drover.dev/do-not-disrupt': 'true' } } }), 'it is not to be touched now'],
  ['is being restored', (scene) => scene.say({ restoreInProgress: 'nightly' }), 'it is not to be touched now'],
  ['is of a pool that heals no more', (scene) => scene.changePool({ spec: { autohealing: null } }), 'the pool heals no more'],
  ['is of a pool that heals after more failures', (scene) => scene.changePool({ spec: { autohealing: { startupFailureThreshold: 4 } } }), 'it is no longer sick'],
])('a VM that meanwhile %s is left as it is', async (_what, meanwhile, why) => {
  const scene = await Scene.make();
  await meanwhile(scene);
  const before = await scene.now();
  expect(await scene.remove()).toEqual({ end: 'Kept', why });
  expect((await scene.now()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

test('a VM of a pool that is being deleted is left to that', async () => {
  const scene = await Scene.make();
  await scene.changePool({ metadata: { finalizers: ['drover.dev/pool'] } });
  await cluster().kube.delete(VirtualMachinePools, scene.pool.metadata);
  expect(await scene.remove()).toEqual({ end: 'Kept', why: 'the pool heals no more' });
  await scene.expectUntouched();
});

test('another VM of its name, made since, is not touched', async () => {
  const scene = await Scene.make();
  expect(await scene.remove({ uid: 'that-of-the-one-before' })).toEqual({ end: 'Removed', events: [] });
  await scene.expectUntouched();
});

test.each([
  ['deleted', false],
  ['halted', true],
] as const)('a VM that changes in the moment before it is %s is looked at once more', async (_act, holdsData) => {
  const scene = await Scene.make();
  let met = 0;
  const fate = async (method: string, path: string): Promise<Fate> => {
    const isAct = ['DELETE', 'PATCH'].includes(method) && path.includes('/virtualmachines/web-1');
    if (isAct && ++met === 1) await scene.change({ metadata: { annotations: { 'drover.dev/do-not-disrupt': 'true' } } });
    return 'pass';
  };
  expect(await scene.remove({ holdsData }, fate)).toEqual({ end: 'Kept', why: 'it is not to be touched now' });
  expect(met).toBe(1);
  await scene.expectUntouched();
});

const aClaim = (namespace: string): Promise<unknown> =>
  cluster().kube.create(PersistentVolumeClaims, {
    metadata: { namespace, name: 'disk-1' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });

test.each<[string, Autohealing, boolean, 'deleted' | 'halted']>([
  ['has run keeps its disks', {}, true, 'halted'],
  ['has run loses its disks where the pool says so', { preserveStorage: false }, true, 'deleted'],
  ['has never run keeps its disks where the pool says so', { preserveStorage: true }, false, 'halted'],
])('a VM that %s', async (_what, autohealing, holdsData, became) => {
  const scene = await Scene.make({ autohealing });
  expect(await scene.remove({ holdsData })).toMatchObject({ end: 'Removed' });
  expect(await scene.became()).toBe(became);
});

test('a VM that has never run keeps a disk that is older than itself, and loses one of its own', async () => {
  const older = await Scene.make({
    prepare: async (namespace) => {
      await aClaim(namespace);
      // Kubernetes' times have no fractions.
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

test('a VM that runs well is noted to have, and another that took its name is not', async () => {
  const scene = await Scene.make();
  const picture = await aPicture(cluster().stack.kubeconfig);
  const activities = createHealActivities({ ...picture, concurrency: 8 });
  const mark = (uid: string): Promise<void> => new MockActivityEnvironment().run(() => activities.markHasRun(scene.pool.metadata, [{ name: 'web-1', uid }, { name: 'gone', uid }]));
  await mark('that-of-the-one-before');
  expect((await scene.now()).metadata.annotations ?? {}).not.toHaveProperty('drover.dev/has-run');
  await mark(scene.vm.metadata.uid);
  expect((await scene.now()).metadata.annotations).toMatchObject({ 'drover.dev/has-run': 'true' });
});
