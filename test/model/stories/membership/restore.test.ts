import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import { POOL_LABEL } from '../../../../api/labels-and-annotations.ts';
import { controllerOf } from '../../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachineReplicaSets, VirtualMachines } from '../../../../api/resources.ts';
import { field } from '../../../../decisions/lib/json.ts';
import { aTemplate } from '../../pools.ts';
import { backUp, lose, putBack } from '../../world/backup.ts';
import { NAMESPACE } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { begun, isReady, play, statusOf } from '../story.ts';

const MINUTE_MS = 60_000;

/** Names of all VMs of the namespace, with the UID of the pool that each is of. */
const vmsIn = (world: World): Record<string, string | undefined> =>
  Object.fromEntries(world.server.all(VirtualMachines).map((vm) => [vm.metadata.name, controllerOf(vm)?.uid]));

const owned = (world: World, ...names: string[]): Record<string, string | undefined> =>
  Object.fromEntries(names.map((name) => [name, world.pool('web')?.metadata.uid]));

/** Names of VMs that were there at any time from now on. */
function watchNames(world: World): Set<string> {
  const names = new Set<string>();
  world.onlookers.push({
    onWrite: ({ resource, after }) => {
      if (resource === VirtualMachines && after !== undefined) names.add(after.metadata.name);
    },
  });
  return names;
}

for (const vmsFirst of [true, false])
  test(`VMs with disks that come back from a backup ${vmsFirst ? 'before' : 'after'} their pool are its members again, and none is made twice`, () =>
    play(
      async (world) => {
        await begun(world, { replicas: 4, template: aTemplate({ disk: 'root' }), autohealing: {} });
        const backup = backUp(world);
        await lose(world);
        expect(await world.until(() => Object.keys(vmsIn(world)).length === 0, MINUTE_MS)).toBe(true);
        const names = watchNames(world);
        await putBack(world, backup, { vmsFirst, pauseMs: 5_000 });
        expect(await world.until(isReady(world, 4), 5 * MINUTE_MS)).toBe(true);
        await world.wait(5 * MINUTE_MS);
        expect(vmsIn(world)).toEqual(owned(world, 'web-1', 'web-2', 'web-3', 'web-4'));
        expect(names.size).toBe(4);
        const conditions = statusOf(world)?.conditions?.map(({ type }) => type);
        expect(conditions).not.toContain('Restoring');
        expect(conditions).not.toContain('ReplicaFailure');
      },
      {},
      3,
    ));

for (const vmsFirst of [true, false])
  test(`a VM that comes back ${vmsFirst ? 'before' : 'after'} a pool of a newer template loses what that no longer has, and keeps what users have added`, () =>
    play(async (world) => {
      await begun(world, { replicas: 2, template: aTemplate({ tier: 'gold' }) });
      await world.people.changePool('web', { paused: true, template: aTemplate({ version: 2 }) });
      const at = { namespace: NAMESPACE, name: 'web-1' };
      const labels = { 'user.example/of': 'ann' };
      await world.people.client.patch(VirtualMachines, at, 'merge', {
        spec: { template: { metadata: { labels } } },
      });
      await world.wait(5_000);
      const backup = backUp(world);
      await lose(world);
      await world.wait(MINUTE_MS);
      await putBack(world, backup, { vmsFirst, pauseMs: 5_000 });
      await world.people.changePool('web', { paused: false });
      const isUpdated = (): boolean => statusOf(world)?.updatedReplicas === 2 && isReady(world, 2)();
      expect(await world.until(isUpdated, 10 * MINUTE_MS)).toBe(true);
      const labelsOf = (name: string): object =>
        field(world.vm(name)?.['spec'], 'template', 'metadata', 'labels') as object;
      expect(labelsOf('web-1')).toMatchObject(labels);
      for (const name of ['web-1', 'web-2']) expect(labelsOf(name)).not.toHaveProperty('tier');
    }));

test('VMs that a backup lacks are made after a while, and the pool continues as before', () =>
  play(async (world) => {
    await begun(world, { replicas: 3 });
    const backup = backUp(world);
    await lose(world);
    await world.wait(MINUTE_MS);
    const some = new Map(
      [...backup].map(([kind, objects]) => [kind, kind === VirtualMachines ? objects.slice(1) : objects]),
    );
    await putBack(world, some, { vmsFirst: false, pauseMs: 1_000 });
    await world.wait(MINUTE_MS);
    expect(Object.keys(vmsIn(world)).length).toBe(2);
    expect(await world.until(isReady(world, 3), 3 * MINUTE_MS)).toBe(true);
    await world.people.changePool('web', { replicas: 5 });
    expect(await world.until(isReady(world, 5), MINUTE_MS)).toBe(true);
  }));

test('a VM that is restored while its pool lives takes the free place, and a surplus one is left to users', () =>
  play(async (world) => {
    await begun(world, { replicas: 3 });
    await world.wait(5 * MINUTE_MS);
    const backup = backUp(world);
    await world.people.changePool('web', { replicas: 1 });
    expect(await world.until(() => Object.keys(vmsIn(world)).length === 1, MINUTE_MS)).toBe(true);
    await putBack(world, backup, { vmsFirst: true, pauseMs: 1_000 });
    await world.wait(MINUTE_MS);
    const left = world.server.all(VirtualMachines).filter((vm) => controllerOf(vm) === undefined);
    expect(left.map(({ metadata }) => metadata.labels?.[POOL_LABEL])).toEqual(['web', 'web']);
    expect(statusOf(world)?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Restoring', reason: 'MoreThanWanted' }),
    );
    await world.people.changePool('web', { replicas: 3 });
    expect(await world.until(isReady(world, 3), MINUTE_MS)).toBe(true);
    expect(vmsIn(world)).toEqual(owned(world, 'web-1', 'web-2', 'web-3'));
  }));

test('VMs of a replica set that come back after their set are its members again, and none is made or deleted', () =>
  play(
    async (world) => {
      const selector = { matchLabels: { app: 'web' } };
      const template = { metadata: { labels: { app: 'web' } }, ...aTemplate() };
      await world.people.createOwner('VirtualMachineReplicaSet', 'web', { replicas: 3, selector, template } as never);
      const ready = (): boolean =>
        world.server
          .all(VirtualMachineInstances)
          .filter(({ status }) => (status as { phase?: string })?.phase === 'Running').length === 3;
      expect(await world.until(ready, 2 * MINUTE_MS)).toBe(true);
      const backup = backUp(world);
      const before = Object.keys(vmsIn(world)).toSorted();
      await lose(world);
      await world.wait(MINUTE_MS);
      const names = watchNames(world);
      await putBack(world, backup, { vmsFirst: false, pauseMs: 5_000 });
      expect(await world.until(ready, 5 * MINUTE_MS)).toBe(true);
      await world.wait(5 * MINUTE_MS);
      const set = world.server.find(VirtualMachineReplicaSets, { namespace: NAMESPACE, name: 'web' });
      expect([...names].toSorted()).toEqual(before);
      expect(new Set(Object.values(vmsIn(world)))).toEqual(new Set([set?.metadata.uid]));
    },
    { owners: ['VirtualMachinePool', 'VirtualMachineReplicaSet'] },
  ));
