import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { REMOVE_VMS_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { removeVms } from '../../../clients/scaling/remove-vms.ts';
import { isRemoved } from '../facts.ts';
import { aTemplate } from '../pools.ts';
import { NAMESPACE } from '../world/names.ts';
import { begun, play, statusOf } from './story.ts';

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

test('a VM that is protected while its scale-in is under way stays, and another leaves', () =>
  play(
    async (world) => {
      await begun(world, {
        replicas: 6,
        scaleInStrategy: { proactive: { selectionPolicy: { basePolicy: 'Newest' } } },
      });
      const { uid } = world.pool('web')!.metadata;
      await world.people.changePool('web', { replicas: 3 });
      // The deletions are planned, and wait for a worker.
      await world.wait(2_000);
      for (const name of ['web-4', 'web-5', 'web-6']) await world.people.protect(name, true);
      const names = (): string[] => world.vmsOf(uid).map(({ metadata }) => metadata.name);
      if (!(await world.until(() => names().length === 3, 300_000))) world.break('G12: the pool does not shrink');
      expect(names().toSorted()).toEqual(['web-4', 'web-5', 'web-6']);
      await world.people.changePool('web', { replicas: 2 });
      const blocked = () => statusOf(world)?.conditions?.find(({ type }) => type === 'ScaleInBlocked');
      expect(await world.until(() => blocked()?.reason === 'Protected', 60_000)).toBe(true);
      await world.people.protect('web-5', false);
      if (!(await world.until(() => names().length === 2, 300_000))) world.break('G12: the pool does not shrink');
      expect(names().toSorted()).toEqual(['web-4', 'web-6']);
      expect(await world.until(() => blocked() === undefined, 60_000)).toBe(true);
    },
    { delays: { deleteVms: 5_000 } },
  ));

test('VMs that are removed by name leave, and no others, despite crashes, growth and released VMs meanwhile', () =>
  play(
    async (world) => {
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
