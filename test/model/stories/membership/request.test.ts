import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import { ADOPT_VMS_ANNOTATION, REMOVE_VMS_ANNOTATION, REVISION_LABEL } from '../../../../api/labels-and-annotations.ts';
import { VirtualMachinePools, VirtualMachines } from '../../../../api/resources.ts';
import { wantedReplicas } from '../../../../api/rules/wanted-replicas.ts';
import { aTemplate } from '../../pools.ts';
import { CALL_MS } from '../../readings.ts';
import { NAMESPACE } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { begun, play, statusOf } from '../story.ts';
import { afterWrites } from './after-writes.ts';

const MINUTE_MS = 60_000;

const OLD = ['web-7', 'old-a', 'old-b', 'old-c'];

const membersOf = (world: World, name = 'web'): string[] =>
  world
    .vmsOf(world.pool(name)!.metadata.uid)
    .map(({ metadata }) => metadata.name)
    .sort();
const wanted = (world: World): number => wantedReplicas(world.pool('web')!);

/** Given a pool of three VMs, and four of no owner. Returns the names of VMs that are made or deleted since. */
async function given(world: World): Promise<{ made: string[]; deleted: string[] }> {
  await begun(world, { replicas: 3 });
  for (const name of OLD) await world.people.createVm(name, {});
  await world.wait(5_000);
  const log: Awaited<ReturnType<typeof given>> = { made: [], deleted: [] };
  world.onlookers.push({
    onWrite: ({ resource, before, after }) => {
      if (resource !== VirtualMachines) return;
      if (before === undefined) log.made.push(after!.metadata.name);
      if (after === undefined || after.metadata.deletionTimestamp !== undefined)
        log.deleted.push(before!.metadata.name);
    },
  });
  return log;
}

const adopt = (world: World): Promise<void> => world.people.take('web', OLD);
const detach = (world: World): Promise<void> => world.people.letGo(['web-1', 'web-3'], true);
const isNoneNamed = (world: World) => (): boolean =>
  [REMOVE_VMS_ANNOTATION, ADOPT_VMS_ANNOTATION].every(
    (name) => world.pool('web')?.metadata.annotations?.[name] === undefined,
  );

test.each([
  ['adopts', adopt, [...OLD, 'web-1', 'web-2', 'web-3'].sort()],
  ['detaches', detach, ['web-2']],
] as const)(
  'a worker that %s VMs and is killed after any of its writes is replaced: each VM moves, is counted once, and none is made or deleted',
  async (_what, ask, members) => {
    for (let count = 1, isOver = false; !isOver; count++)
      await play(
        async (world) => {
          const log = await given(world);
          const isKilled = afterWrites(world, count, (worker) => world.kill(worker));
          await ask(world);
          await world.until(() => isKilled() || isNoneNamed(world)(), MINUTE_MS);
          if (isKilled()) await world.addWorker();
          expect(await world.until(isNoneNamed(world), MINUTE_MS)).toBe(true);
          await world.wait(MINUTE_MS);
          isOver = !isKilled();
          expect({ count, members: membersOf(world), wanted: wanted(world) }).toEqual({
            count,
            members,
            wanted: members.length,
          });
          expect(log).toEqual({ made: [], deleted: [] });
        },
        {},
        1,
      );
  },
);

test('a pool continues at once when a VM has been detached: it makes another in its place', () =>
  play(async (world) => {
    await begun(world, { replicas: 3 });
    await world.people.letGo(['web-2'], false);
    expect(await world.until(() => membersOf(world).join() === 'web-1,web-3,web-4', MINUTE_MS)).toBe(true);
    expect(wanted(world)).toBe(3);
    expect(world.vm('web-2')?.metadata.ownerReferences ?? []).toEqual([]);
  }));

test('an adopted VM that matches the template is not restarted by a worker that has yet to see what its VMI runs', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 1 });
      for (const name of OLD) await world.people.createVm(name, {});
      await world.wait(15_000);
      const uids = (): unknown[] => OLD.map((name) => world.vmi(name)?.metadata.uid);
      const before = uids();
      for (const worker of world.workers) world.kill(worker);
      await world.addWorker();
      await adopt(world);
      expect(await world.until(isNoneNamed(world), MINUTE_MS)).toBe(true);
      await world.wait(MINUTE_MS);
      expect(uids()).toEqual(before);
    },
    { lag: 3_000 },
    20,
  ));

test('a worker that was frozen while it adopted VMs moves none when it continues, and counts none twice', async () => {
  for (let count = 1, isOver = false; !isOver; count++)
    await play(
      async (world) => {
        const log = await given(world);
        let frozen: World['workers'][number] | undefined;
        const isFrozen = afterWrites(world, count, (worker) => world.freeze((frozen = worker)));
        await adopt(world);
        expect(await world.until(isNoneNamed(world), 2 * MINUTE_MS)).toBe(true);
        isOver = !isFrozen();
        await world.people.letGo(['old-a', 'old-c'], true);
        expect(await world.until(isNoneNamed(world), MINUTE_MS)).toBe(true);
        if (frozen !== undefined) world.thaw(frozen);
        await world.wait(MINUTE_MS);
        expect({ count, members: membersOf(world), wanted: wanted(world) }).toEqual({
          count,
          members: ['old-b', 'web-1', 'web-2', 'web-3', 'web-7'],
          wanted: 5,
        });
        expect(log).toEqual({ made: [], deleted: [] });
      },
      {},
      1,
    );
});

test('VMs that are detached while others are adopted leave, each VM is counted, and none is made or deleted', async () => {
  for (let count = 1, isOver = false; !isOver; count++)
    await play(
      async (world) => {
        const log = await given(world);
        const isBegun = afterWrites(world, count, () => void world.people.letGo(['web-1'], true));
        await adopt(world);
        await world.until(isNoneNamed(world), MINUTE_MS);
        await world.wait(MINUTE_MS);
        isOver = !isBegun();
        expect({ count, wanted: wanted(world) }).toEqual({ count, wanted: isOver ? 7 : 6 });
        expect(membersOf(world)).toHaveLength(wanted(world));
        expect(membersOf(world).includes('web-1')).toBe(isOver);
        expect(log).toEqual({ made: [], deleted: [] });
      },
      {},
      1,
    );
});

test('a pool that is deleted while it adopts VMs gets no other from then on', async () => {
  for (let count = 1, isOver = false; !isOver; count++)
    await play(
      async (world) => {
        await given(world);
        let isGoing = false;
        let deletedAt = Infinity;
        const late: string[] = [];
        const { uid } = world.pool('web')!.metadata;
        const isDeleted = afterWrites(world, count, () => {
          world.server.delete(VirtualMachinePools, { namespace: NAMESPACE, name: 'web' });
          isGoing = true;
          deletedAt = world.time.now;
          world.onlookers.push({
            onWrite: ({ resource, before, after }) => {
              const owners = [before, after].map((vm) => vm?.metadata.ownerReferences?.[0]?.uid);
              // Calls may be in flight, each for a VM for which the pool was read before.
              const isLate = world.time.now > deletedAt + CALL_MS;
              if (isLate && resource === VirtualMachines && owners[0] !== uid && owners[1] === uid)
                late.push(after!.metadata.name);
            },
          });
        });
        await adopt(world);
        await world.until(() => isNoneNamed(world)() || (isGoing && world.pool('web') === undefined), 3 * MINUTE_MS);
        isOver = !isDeleted();
        expect({ count, late }).toEqual({ count, late: [] });
      },
      {},
      1,
    );
});

test('a rollout continues while VMs are adopted, and a scale-in meanwhile leaves as many VMs as it says', () =>
  play(async (world) => {
    await begun(world, { replicas: 6 });
    for (const name of OLD) await world.people.createVm(name, {});
    await world.wait(5_000);
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    await world.wait(3_000);
    await adopt(world);
    const isHalfDone = (): boolean => OLD.some((name) => membersOf(world).includes(name));
    expect(await world.until(isHalfDone, MINUTE_MS)).toBe(true);
    await world.people.changePool('web', { replicas: 8 });
    const isSettled = (): boolean =>
      isNoneNamed(world)() && membersOf(world).length === 8 && statusOf(world)?.rollout?.completedAt !== undefined;
    expect(await world.until(isSettled, 10 * MINUTE_MS)).toBe(true);
    expect(isNoneNamed(world)()).toBe(true);
    expect(membersOf(world)).toHaveLength(8);
    const own = membersOf(world).filter((name) => /^web-[1-6]$/.test(name));
    const revisions = own.map((name) => world.vm(name)?.metadata.labels?.[REVISION_LABEL]);
    expect(new Set(revisions)).toEqual(new Set([statusOf(world)?.updateRevision]));
  }));
