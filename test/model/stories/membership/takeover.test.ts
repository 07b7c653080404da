import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import { KUBEVIRT_POOL_FINALIZER, KUBEVIRT_REVISION_LABEL } from '../../../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../../../api/objects.ts';
import { KubeVirtPools, VirtualMachinePools, VirtualMachines } from '../../../../api/resources.ts';
import { changeAnnotation, membershipChangeOf } from '../../../../decisions/membership/change.ts';
import type { MembershipRequest } from '../../../../decisions/membership/membership-request.ts';
import { aSpec } from '../../pools.ts';
import { NAMESPACE } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { play, statusOf } from '../story.ts';
import { afterWrites } from './after-writes.ts';

const MINUTE_MS = 60_000;
const key = { namespace: NAMESPACE, name: 'web' };
const VMS = ['web-0', 'web-1', 'web-2'];

const theirs = (world: World): Stored | undefined => world.server.find(KubeVirtPools, key);
const membersOf = (world: World, pool: Stored | undefined): string[] =>
  pool === undefined
    ? []
    : world
        .vmsOf(pool.metadata.uid)
        .map(({ metadata }) => metadata.name)
        .sort();
const outcomes = (world: World): string[] =>
  statusOf(world)?.membership?.handledRequests?.map(({ outcome }) => outcome) ?? [];

interface Log {
  made: string[];
  deleted: string[];
  /** VMs without a controller at some moment. */
  lost: string[];
}

/** Given a KubeVirt pool with three VMs, and drover's that is to take it over. Says what happens to VMs since. */
async function given(world: World): Promise<Log> {
  world.define(KubeVirtPools);
  const { template } = aSpec({});
  const labels = { ...template.metadata?.labels, app: 'web' };
  const virtualMachineTemplate = { ...template, metadata: { ...template.metadata, labels } };
  const pool = world.server.create(KubeVirtPools, {
    metadata: key,
    spec: { replicas: VMS.length, selector: { matchLabels: { app: 'web' } }, virtualMachineTemplate },
  });
  const { apiVersion = '', metadata } = pool;
  const owner = { apiVersion, kind: KubeVirtPools.kind, name: 'web', uid: metadata.uid, controller: true };
  for (const name of VMS)
    world.server.create(VirtualMachines, {
      metadata: {
        namespace: NAMESPACE,
        name,
        labels: { ...labels, [KUBEVIRT_REVISION_LABEL]: 'web-1' },
        finalizers: [KUBEVIRT_POOL_FINALIZER],
        ownerReferences: [owner],
      },
      spec: structuredClone(template.spec),
    });
  await world.wait(15_000);
  const log: Log = { made: [], deleted: [], lost: [] };
  world.onlookers.push({
    onWrite: ({ resource, before, after }) => {
      if (resource.group === KubeVirtPools.group) confirm(world);
      if (resource !== VirtualMachines) return;
      const { name } = (after ?? before)!.metadata;
      if (before === undefined) log.made.push(name);
      if (after === undefined || after.metadata.deletionTimestamp !== undefined) log.deleted.push(name);
      else if (controllerOf(after) === undefined) log.lost.push(name);
    },
  });
  const annotations = changeAnnotation({ kind: 'takeover', by: 'ann', at: new Date(world.time.now).toISOString() });
  world.server.create(VirtualMachinePools, {
    metadata: { ...key, annotations },
    spec: { ...aSpec({ replicas: VMS.length }), template: virtualMachineTemplate },
  });
  expect(await world.until(() => statusOf(world)?.rollout !== undefined, MINUTE_MS)).toBe(true);
  return log;
}

/** As virt-controller does: the status says whether the pool is paused. */
function confirm(world: World): void {
  const pool = theirs(world);
  if (pool === undefined) return;
  const { paused = false } = pool['spec'] as { paused?: boolean };
  const conditions = paused ? [{ type: 'ReplicaPaused', status: 'True' }] : [];
  world.server.write(KubeVirtPools, key, (before) => ({ ...before, status: { conditions } }), 'status');
}

const takeover = (world: World): MembershipRequest => {
  const { uid, generation } = theirs(world)!.metadata;
  return { action: 'takeover', uid, generation: generation! };
};

const UNHARMED: Log = { made: [], deleted: [], lost: [] };

test.each(['killed', 'frozen'] as const)(
  'a worker that is %s after any write of a takeover, and of the release that follows, is replaced: each VM moves there and back',
  async (how) => {
    for (let count = 1, isOver = false; !isOver; count++)
      await play(
        async (world) => {
          const log = await given(world);
          let hit: World['workers'][number] | undefined;
          const isHit = afterWrites(world, count, (worker) =>
            how === 'killed' ? world.kill((hit = worker)) : world.freeze((hit = worker)),
          );
          const ended = async (answers: number): Promise<void> => {
            await world.until(() => isHit() || outcomes(world).length === answers, 2 * MINUTE_MS);
            if (isHit() && how === 'killed' && world.workers.length < 3) await world.addWorker();
            expect(await world.until(() => outcomes(world).length === answers, 3 * MINUTE_MS)).toBe(true);
          };
          await world.people.move('web', takeover(world));
          await ended(1);
          await world.wait(MINUTE_MS / 2);
          expect({ count, there: membersOf(world, world.pool('web')), theirs: theirs(world) }).toEqual({
            count,
            there: VMS,
            theirs: undefined,
          });
          expect(membershipChangeOf(world.pool('web')!)).toBeNull();
          await world.people.move('web', { action: 'release' });
          await ended(2);
          if (hit !== undefined && how === 'frozen') world.thaw(hit);
          await world.wait(MINUTE_MS);
          isOver = !isHit();
          expect({ count, back: membersOf(world, theirs(world)), own: membersOf(world, world.pool('web')) }).toEqual({
            count,
            back: VMS,
            own: [],
          });
          expect({ count, outcomes: outcomes(world) }).toEqual({ count, outcomes: ['Done', 'Done'] });
          expect({ count, log }).toEqual({ count, log: UNHARMED });
        },
        {},
        1,
      );
  },
);

test('a takeover that is taken back after any of its writes leaves KubeVirt with all VMs', async () => {
  for (let count = 1, isOver = false; !isOver; count++)
    await play(
      async (world) => {
        const log = await given(world);
        const isBack = afterWrites(world, count, () => void world.people.move('web', { action: 'release' }));
        await world.people.move('web', takeover(world));
        await world.until(() => outcomes(world).length === 1, 2 * MINUTE_MS);
        await world.wait(MINUTE_MS);
        isOver = !isBack();
        if (isOver) return;
        expect({ count, back: membersOf(world, theirs(world)), own: membersOf(world, world.pool('web')) }).toEqual({
          count,
          back: VMS,
          own: [],
        });
        expect({ count, log }).toEqual({ count, log: UNHARMED });
      },
      {},
      1,
    );
});
