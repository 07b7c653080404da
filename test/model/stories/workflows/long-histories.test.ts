import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import { withHeartbeat } from '../../../../activities/lib/heartbeat.ts';
import type { VmOwnerKind } from '../../../../api/owner-kinds.ts';
import { KubeError } from '../../../../kubernetes/errors.ts';
import { ownerIdOf } from '../../../../workflows/lib/messages.ts';
import { aSpec } from '../../pools.ts';
import { aSetSpec } from '../../sets.ts';
import { refOf } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { begun, play, statusOf } from '../story.ts';

const MINUTE_MS = 60_000;
const denied = new KubeError(403, 'Forbidden', 'admission webhook "policy" denied the request');

const KINDS: [VmOwnerKind, object][] = [
  ['VirtualMachinePool', aSpec({ replicas: 2 })],
  ['VirtualMachineReplicaSet', aSetSpec('VirtualMachineReplicaSet', 2)],
  ['VirtualMachineInstanceReplicaSet', aSetSpec('VirtualMachineInstanceReplicaSet', 2)],
];
const OWNERS = KINDS.map(([kind]) => kind);
/** Temporal suggests nothing. */
const NEVER = { longHistory: 1_000_000 };

const runOf = (world: World, kind: VmOwnerKind = 'VirtualMachinePool') =>
  world.temporal.runs.get(ownerIdOf(kind, refOf('web')))!;

/** Signals the workflow until its next run has begun. */
async function untilContinued(world: World, kind?: VmOwnerKind): Promise<void> {
  const { id, runId } = runOf(world, kind);
  for (let signals = 0; runOf(world, kind).runId === runId; signals++) {
    if (signals > 1_000) world.break(`the history of ${id} grows without end: ${runOf(world, kind).events} events`);
    world.temporal.signal(id, 'changed', []);
    await world.wait(100);
  }
}

test.each(KINDS)('the history of an idle %s is short, however often it was looked at', (kind, spec) =>
  play(
    async (world) => {
      await world.people.createOwner(kind, 'web', spec);
      const { uid } = world.owner(kind, 'web')!.metadata;
      const has = (count: number) => (): boolean => world.membersOf(kind, uid).length === count;
      expect(await world.until(has(2), MINUTE_MS)).toBe(true);
      await untilContinued(world, kind);
      await world.people.changeOwner(kind, 'web', { replicas: 3 });
      expect(await world.until(has(3), MINUTE_MS)).toBe(true);
    },
    { ...NEVER, owners: OWNERS },
    1,
  ),
);

test('an edit of the spec has everything tried again at once, although another run recorded the refusal', () =>
  play(async (world) => {
    await begun(world, { replicas: 1 });
    world.refuse = ({ verb, resource }) =>
      verb === 'create' && resource?.plural === 'virtualmachines' ? denied : null;
    await world.people.changePool('web', { replicas: 2 });
    // The next try is a minute later.
    await world.wait(70_000);
    await untilContinued(world);
    world.refuse = () => null;
    await world.people.changePool('web', { replicas: 3 });
    const isDone = (): boolean => statusOf(world)?.replicas === 3;
    if (!(await world.until(isDone, 10_000))) world.break('G25: nothing is tried after an edit');
  }, NEVER));

/** Has workers take so long for an activity of this type, which tells Temporal that it lives. */
function slow(world: World, type: string, ms: number): void {
  for (const { activities } of world.workers) {
    const real = activities[type] as (...args: unknown[]) => Promise<unknown>;
    activities[type] = (...args: unknown[]) =>
      withHeartbeat(async () => {
        await new Promise((resolve) => void setTimeout(resolve, ms));
        return await real(...args);
      });
  }
}

test('a run whose history is long continues as long as something is in progress, and ends finally', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 4 });
      slow(world, 'deleteVms', 20 * MINUTE_MS);
      await world.people.changePool('web', { replicas: 3 });
      await world.wait(5_000);
      const { runId } = runOf(world);
      for (let signals = 0; signals < 15; signals++) {
        world.temporal.signal(runOf(world).id, 'changed', []);
        await world.wait(500);
      }
      expect(runOf(world).runId).toBe(runId);
      world.people.signal('web', 'pause', { by: 'ann' });
      expect(await world.until(() => statusOf(world)?.rollout?.paused?.by === 'ann', 5_000)).toBe(true);
      await world.people.deleteVm('web-1');
      expect(await world.until(() => world.vm('web-1')?.metadata.deletionTimestamp === undefined, MINUTE_MS)).toBe(
        true,
      );
      await untilContinued(world);
      expect(await world.until(() => statusOf(world)?.replicas === 3, 60 * MINUTE_MS)).toBe(true);
    },
    { longHistory: 100 },
    1,
  ));

test('a replica set whose run ends while VMs are being made makes none twice', () =>
  play(
    async (world) => {
      const kind = 'VirtualMachineReplicaSet';
      await world.people.createOwner(kind, 'web', aSetSpec(kind, 2));
      const { uid } = world.owner(kind, 'web')!.metadata;
      const has = (count: number) => (): boolean => world.membersOf(kind, uid).length === count;
      expect(await world.until(has(2), MINUTE_MS)).toBe(true);
      slow(world, 'createReplicas', 2 * MINUTE_MS);
      await world.people.changeOwner(kind, 'web', { replicas: 5 });
      await world.wait(2_000);
      await untilContinued(world, kind);
      expect(await world.until(has(5), 10 * MINUTE_MS)).toBe(true);
      await world.wait(10 * MINUTE_MS);
      expect(has(5)()).toBe(true);
    },
    { longHistory: 40, owners: OWNERS },
  ));
