import './world/real-code.ts';
import { asyncLocalStorage } from '@temporalio/activity';
import { expect, test } from 'vitest';
import { REMOVE_VMS_ANNOTATION, REVISION_LABEL } from '../../api/names.ts';
import { poolIdOf, progress, type PoolProgress } from '../../workflows/messages.ts';
import { isRemoved } from './facts.ts';
import { aSpec, aTemplate } from './pools.ts';
import { aSetSpec, SETS } from './sets.ts';
import { begun, isReady, play, statusOf } from './stories/story.ts';
import type { Call } from './world/model-client.ts';
import { NAMESPACE, refOf } from './world/names.ts';
import { type World } from './world/world.ts';

const isCreationOf = (plural: string, { verb, resource }: Call): boolean =>
  verb === 'create' && resource?.plural === plural;

test('a VM that is deleted during its batch costs no other VM when the pool is scaled in, and is recreated before the batch is over', () =>
  play(async (world) => {
    await begun(world, { replicas: 10, maxUnavailable: 2 });
    await world.people.changePool('web', { template: aTemplate({ version: 2, bootMs: 300_000 }) });
    await world.until(() => (statusOf(world)?.readyReplicas ?? 10) <= 8, 30_000);
    const down = world
      .vmsOf(world.pool('web')!.metadata.uid)
      .map(({ metadata }) => metadata.name)
      .find((name) => world.vmi(name)?.status?.phase !== 'Running')!;
    await world.people.deleteVm(down);
    await world.wait(3_000);
    await world.people.changePool('web', { replicas: 9 });
    await world.wait(200_000);
  }));

test('a scale-in during a rollout that fails takes the VMs that are down, not those that are ready', () =>
  play(async (world) => {
    await begun(world, { replicas: 10, maxUnavailable: 3 });
    await world.people.changePool('web', { template: aTemplate({ version: 2, neverReady: true }) });
    await world.until(() => (statusOf(world)?.readyReplicas ?? 10) <= 7, 30_000);
    await world.wait(60_000);
    await world.people.changePool('web', { replicas: 7 });
    await world.wait(30_000);
  }));

test('a scale-in that begins late deletes no VM that is wanted again', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 10 });
      await world.people.changePool('web', { replicas: 5 });
      await world.wait(20_000);
      await world.people.changePool('web', { replicas: 10 });
      await world.wait(120_000);
    },
    { delays: { deleteVms: 60_000 } },
  ));

test('two pools whose disk templates have one name never run on one disk, nor delete it', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, template: aTemplate({ disk: 'alpine-dv' }) }, 'a');
    await world.people.createPool('b', aSpec({ replicas: 2, template: aTemplate({ disk: 'alpine-dv' }) }));
    await world.wait(60_000);
    await world.people.changePool('a', { replicas: 0 });
    await world.wait(60_000);
  }));

test('a VM that ran while nobody watched keeps its disks when its VMI fails to start', () =>
  play(async (world) => {
    await begun(world, {
      replicas: 3,
      autohealing: { startupFailureThreshold: 3, maxUnhealthy: '100%' },
      template: aTemplate({ disk: 'root' }),
    });
    await world.people.changePool('web', { replicas: 4 });
    await world.until(() => world.vm('web-4') !== undefined, 30_000);
    for (const worker of world.workers) world.freeze(worker);
    await world.wait(300_000);
    expect(world.vmi('web-4')?.status?.phase).toBe('Running');
    await world.people.corruptDisk('root-4');
    world.kubevirt.crash('web-4');
    await world.wait(300_000);
    for (const worker of world.workers) world.thaw(worker);
    await world.wait(600_000);
  }));

test('a surplus that nobody will remove stops no healing', () =>
  play(async (world) => {
    await begun(world, {
      replicas: 5,
      autohealing: { preserveStorage: false, maxUnhealthy: '100%' },
      scaleInStrategy: { opportunistic: {} },
      template: aTemplate({ disk: 'root' }),
    });
    await world.people.changePool('web', { replicas: 4 });
    await world.people.corruptDisk('root-5');
    world.kubevirt.crash('web-5');
    const { uid } = world.vm('web-5')!.metadata;
    if (!(await world.until(() => world.vm('web-5')?.metadata.uid !== uid, 1_800_000)))
      world.break('G12: web-5 is sick for half an hour, and is not healed');
  }));

test('a pool that is recreated under its name begins with nothing of the old one', () =>
  play(async (world) => {
    const { KubeError } = await import('../../kubernetes/errors.ts');
    const refusal = new KubeError(403, 'Forbidden', 'exceeded quota');
    const rollout = { maxFailures: 5, progressDeadlineSeconds: 30 };
    await begun(world, { replicas: 5, maxUnavailable: 1, autohealing: {}, rollout });
    world.people.signal('web', 'pause', { by: 'ann', why: 'incident 42' });
    world.people.signal('web', 'healPause', { by: 'ann' });
    world.refuse = (call) => (isCreationOf('virtualmachines', call) ? refusal : null);
    await world.people.changePool('web', { template: aTemplate({ version: 2 }), replicas: 6 });
    await world.wait(5_000);
    const { spec } = world.pool('web')!;
    const id = poolIdOf(refOf('web'));
    const recentErrors = (): PoolProgress['recentErrors'] =>
      (world.temporal.query(id, progress.name) as PoolProgress).recentErrors;
    expect(statusOf(world)?.healing?.paused).toMatchObject({ by: 'ann' });
    expect(recentErrors()).toMatchObject([{ message: refusal.message }]);
    for (const worker of world.workers) world.freeze(worker);
    world.refuse = () => null;
    await world.people.client.patch(...poolKey, 'merge', { metadata: { finalizers: null } });
    await world.people.deletePool('web').catch(() => {});
    await world.people.createPool('web', spec);
    await world.wait(5_000);
    for (const worker of world.workers) world.thaw(worker);
    await world.wait(60_000);
    const isWhole = await world.until(isReady(world, 6), 300_000);
    if (!isWhole) world.break(`G14: the new pool has ${statusOf(world)?.readyReplicas} of 6 VMs ready`);
    if (recentErrors().length > 0) world.break(`G14: the new pool has had ${JSON.stringify(recentErrors())}`);
  }));

test('one number that is refused blocks no other', () =>
  play(async (world) => {
    const { KubeError } = await import('../../kubernetes/errors.ts');
    world.refuse = (call) =>
      isCreationOf('virtualmachines', call) && call.key.name === 'web-3'
        ? new KubeError(403, 'Forbidden', 'admission webhook "names" denied the request: no three')
        : null;
    await world.people.createPool('web', aSpec({ replicas: 20 }));
    if (!(await world.until(() => world.vmsOf(world.pool('web')!.metadata.uid).length >= 19, 600_000)))
      world.break('G11: VMs of other numbers than the one that is refused are not made');
  }));

test('forty lower numbers that are refused hold up the others for seconds', () =>
  play(async (world) => {
    const { KubeError } = await import('../../kubernetes/errors.ts');
    const refusal = new KubeError(403, 'Forbidden', 'admission webhook "names" denied the request: none below 41');
    world.refuse = (call) =>
      isCreationOf('virtualmachines', call) && Number(call.key.name!.slice('web-'.length)) <= 40 ? refusal : null;
    await world.people.createPool('web', aSpec({ replicas: 60 }));
    const areMade = await world.until(() => world.vmsOf(world.pool('web')!.metadata.uid).length >= 20, 120_000);
    if (!areMade) world.break('G11: VMs of other numbers than those that are refused are not made');
  }));

test('a worker that was frozen in the midst of a batch brings no VM back to an older revision', () =>
  play(async (world) => {
    await begun(world, {
      replicas: 8,
      maxUnavailable: 4,
      rollout: { progressDeadlineSeconds: 60, onFailure: 'Continue' },
    });
    for (const version of [2, 3, 4]) {
      let frozen: (typeof world.workers)[number] | undefined;
      world.onlookers.push({
        // Freezes the worker in the middle of its writes, while the response to this one is on its way.
        onWrite: (_write, call) => {
          if (frozen !== undefined || asyncLocalStorage.getStore()?.info.activityType !== 'updateVms') return;
          frozen = world.workers.find(({ process }) => process === call?.process);
          world.freeze(frozen!);
        },
      });
      await world.people.changePool('web', { template: aTemplate({ version }) });
      await world.until(() => frozen !== undefined, 10_000);
      await world.wait(1_000);
      await world.people.changePool('web', { template: aTemplate({ version: version + 10 }) });
      await world.wait(60_000);
      world.thaw(frozen!);
      await world.wait(30_000);
    }
  }));

/** Starts a run that restarts the VMs of these numbers, from the first to the last. */
function restart(world: World, id: string, [from, to]: [number, number], maxUnavailable: number): void {
  const names = Array.from({ length: to - from + 1 }, (_, n) => `web-${n + from}`);
  const chosen = { shop: Object.fromEntries(names.map((name) => [name, world.vmi(name)!.metadata.uid])) };
  const limits = { atOnce: maxUnavailable, maxFailures: 5, deadlineMs: 120_000 };
  const input = { action: 'Restart', chosen, ...limits, requestedBy: 'ann', reason: null };
  world.temporal.start('powerVms', `power/model/${id}`, [input]);
}

test('two runs of restarts and a rollout together keep to the budget of the pool', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 12, maxUnavailable: 1 });
      restart(world, 'a', [1, 4], 3);
      restart(world, 'b', [5, 8], 3);
      restart(world, 'c', [9, 12], 3);
      await world.wait(200_000);
    },
    { lag: 500 },
    4,
  ));

test('VMs that come up while their restart begins cost places in the budget of the run as any other', () =>
  play(
    async (world) => {
      const template = aTemplate({ bootMs: 500 });
      await world.people.createPool('web', aSpec({ replicas: 12, maxUnavailable: '100%', template }));
      await world.until(() => world.vmi('web-12') !== undefined, 30_000);
      await world.wait(world.time.between(200, 500));
      restart(world, 'a', [1, 12], 1);
      await world.wait(60_000);
    },
    {},
    12,
  ));

test('a VM that comes up while its update waits for KubeVirt costs a place in the budget as any other', () =>
  play(
    async (world) => {
      await world.people.createPool(
        'web',
        aSpec({
          replicas: 7,
          maxUnavailable: 3,
          template: aTemplate({ bootMs: 4_000 }),
          rollout: { progressDeadlineSeconds: 60, maxFailures: 3 },
        }),
      );
      await world.until(() => world.vmi('web-7') !== undefined, 30_000);
      await world.wait(world.time.between(1_500, 3_500));
      await world.people.changePool('web', { template: aTemplate({ version: 3 }) });
      await world.wait(30_000);
    },
    { lag: 1_000 },
    6,
  ));

test('a worker that loses the API server is replaced within two minutes, and calls no healthy VM failed', () =>
  play(async (world) => {
    await begun(world, { replicas: 4, maxUnavailable: 1, rollout: { progressDeadlineSeconds: 60 } });
    for (const worker of world.workers) {
      world.cutOff(worker, true);
      await world.wait(40_000);
      const wanted = world.pool('web')!['spec'] as { replicas: number };
      await world.people.changePool('web', { replicas: wanted.replicas + 1 });
      if (
        !(await world.until(() => world.vmsOf(world.pool('web')!.metadata.uid).length === wanted.replicas + 1, 120_000))
      )
        world.break(`G15: while ${worker.process.name} is cut off, nobody scales the pool`);
      await world.people.changePool('web', { template: aTemplate({ version: wanted.replicas }) });
      await world.wait(180_000);
      world.cutOff(worker, false);
      await world.wait(120_000);
      const failed = statusOf(world)?.rollout?.failures ?? [];
      if (failed.length > 0) world.break(`G15: ${JSON.stringify(failed)}`);
    }
  }));

const poolKey = [
  {
    group: 'drover.dev',
    version: 'v1alpha1',
    plural: 'virtualmachinepools',
    kind: 'VirtualMachinePool',
    namespaced: true,
  },
  { namespace: 'shop', name: 'web' },
] as const;

test('VMs that are removed by name leave, and no others, whoever dies, grows the pool back or lets go of one meanwhile', () =>
  play(
    async (world) => {
      const { removeVms } = await import('../../clients/pool/remove-vms.ts');
      await begun(world, { replicas: 8, scaleInStrategy: { proactive: { statePreservation: 'Offline' } } });
      const { uid } = world.pool('web')!.metadata;
      const uids = (): Map<string, string> =>
        new Map(world.vmsOf(uid).map(({ metadata }) => [metadata.name, metadata.uid]));
      const before = uids();
      const key = { namespace: NAMESPACE, name: 'web' };
      const remove = ['web-2', 'web-4', 'web-6'];
      expect(await removeVms(world.people.client.asClient, key, { remove, dryRun: 'none' })).toBe(5);
      const going = (): boolean => world.vmsOf(uid).some((vm) => isRemoved(vm));
      expect(await world.until(going, 30_000)).toBe(true);
      await world.people.detach('web-6');
      for (const worker of world.workers) world.kill(worker);
      await world.people.changePool('web', { replicas: 6 });
      await world.addWorker();
      const isDone = (): boolean =>
        world.pool('web')!.metadata.annotations?.[REMOVE_VMS_ANNOTATION] === undefined && uids().size === 6;
      if (!(await world.until(isDone, 600_000))) world.break('G20: VMs that were to be removed by name are there');
      const after = uids();
      for (const name of ['web-1', 'web-3', 'web-5', 'web-7', 'web-8'])
        if (after.get(name) !== before.get(name)) world.break(`G20: ${name} left, and another was named`);
      if (remove.some((name) => after.get(name) === before.get(name))) world.break('G20: a named VM stays');
      if (world.vm('web-6')?.metadata.uid !== before.get('web-6')) world.break('G4: web-6 was let go of');
    },
    { delays: { haltVms: 2_000, deleteVms: 2_000 } },
  ));

test('an undo begins though nobody has written into the status yet that it has, since the worker that was to is cut off', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 1, rollout: { progressDeadlineSeconds: 60, onFailure: 'Undo' } });
      const was = statusOf(world)?.currentRevision;
      const revision = (): string | undefined =>
        world.vmsOf(world.pool('web')!.metadata.uid)[0]?.metadata.labels?.[REVISION_LABEL];
      await world.people.changePool('web', { template: aTemplate({ version: 2, neverReady: true }) });
      expect(await world.until(() => revision() !== was, 30_000)).toBe(true);
      await world.wait(30_000);
      world.cutOff(world.workers[0]!, true);
      expect(await world.until(() => revision() === was, 300_000)).toBe(true);
      world.cutOff(world.workers[0]!, false);
    },
    {},
    8,
  ));

test('a VM that is protected while its scale-in is under way stays, and another leaves', () =>
  play(
    async (world) => {
      const { setProtection } = await import('../../clients/power/protect.ts');
      await begun(world, {
        replicas: 6,
        scaleInStrategy: { proactive: { selectionPolicy: { basePolicy: 'Newest' } } },
      });
      const { uid } = world.pool('web')!.metadata;
      const protection = (protect: boolean, names: string[]) =>
        setProtection(world.people.client.asClient, names, { namespace: NAMESPACE, protect, dryRun: 'none' }, () => {});
      await world.people.changePool('web', { replicas: 3 });
      // The deletions are planned, and wait for a worker.
      await world.wait(2_000);
      await protection(true, ['web-4', 'web-5', 'web-6']);
      const names = (): string[] => world.vmsOf(uid).map(({ metadata }) => metadata.name);
      if (!(await world.until(() => names().length === 3, 300_000))) world.break('G12: the pool does not shrink');
      expect(names().toSorted()).toEqual(['web-4', 'web-5', 'web-6']);
      await world.people.changePool('web', { replicas: 2 });
      const blocked = () => statusOf(world)?.conditions?.find(({ type }) => type === 'ScaleInBlocked');
      expect(await world.until(() => blocked()?.reason === 'Protected', 60_000)).toBe(true);
      await protection(false, ['web-5']);
      if (!(await world.until(() => names().length === 2, 300_000))) world.break('G12: the pool does not shrink');
      expect(names().toSorted()).toEqual(['web-4', 'web-6']);
      expect(await world.until(() => blocked() === undefined, 60_000)).toBe(true);
    },
    { delays: { deleteVms: 5_000 } },
  ));

test('a place in a strict set is free once its VM is gone, though a worker freezes as it fills it', () =>
  play(
    async (world) => {
      const kind = 'VirtualMachineReplicaSet';
      const statusOfSet = (): { readyReplicas?: number } => world.owner(kind, SETS[kind])?.['status'] ?? {};
      const isComplete = (): boolean => statusOfSet().readyReplicas === 5;
      const { metadata } = await world.people.createOwner(kind, SETS[kind], aSetSpec(kind, 5, { stopMs: 2_000 }));
      expect(await world.until(isComplete, 60_000)).toBe(true);
      for (const frozen of world.workers) {
        for (const member of world.membersOf(kind, metadata.uid).slice(0, 3))
          await world.people.deleteMember(kind, member.metadata.name);
        await world.wait(world.time.between(50, 400));
        world.freeze(frozen);
        await world.wait(30_000);
        world.thaw(frozen);
        expect(await world.until(isComplete, 120_000)).toBe(true);
      }
    },
    { owners: ['VirtualMachinePool', 'VirtualMachineReplicaSet'] },
  ));

test('a scale-in whose worker is lost takes the VM that a rollout has brought down meanwhile, and none that is ready', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 7, rollout: { progressDeadlineSeconds: 300 } });
      const lost = world.workers[0]!;
      world.cutOff(lost, true);
      await world.wait(25_000);
      await world.people.changePool('web', { template: aTemplate({ version: 2, neverReady: true }) });
      await world.wait(world.time.between(50, 400));
      await world.people.changePool('web', { replicas: 2 });
      await world.wait(90_000);
      world.cutOff(lost, false);
      const isScaledIn = (): boolean => world.vmsOf(world.pool('web')!.metadata.uid).length === 2;
      expect(await world.until(isScaledIn, 300_000)).toBe(true);
    },
    {},
    // Of the first 40 seeds, only this one has the deletion on the worker that is lost.
    [20],
  ));
