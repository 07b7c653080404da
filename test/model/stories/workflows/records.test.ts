import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import type { Act } from '../../../../decisions/history/act.ts';
import { acts, ownerIdOf, poolIdOf } from '../../../../workflows/lib/messages.ts';
import { isReady as isRunning } from '../../facts.ts';
import { operate } from '../../play/operate.ts';
import { createSet } from '../../play/sets.ts';
import { aTemplate } from '../../pools.ts';
import { SETS } from '../../sets.ts';
import { NAMESPACE, refOf } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { crashLoop } from '../crash-loop.ts';
import { begun, isReady, play, statusOf } from '../story.ts';

const MINUTE_MS = 60_000;
const OLD = 'pc-q35-rhel8.6.0';
const NEW = 'pc-q35-rhel9.4.0';
const POOL = poolIdOf(refOf('web'));

/** What the workflow leaves as its result. */
async function resultOf(world: World, id: string): Promise<Act[]> {
  expect(await world.until(() => !world.temporal.runs.get(id)!.isOpen, 30 * MINUTE_MS)).toBe(true);
  return ((await world.temporal.runs.get(id)!.result.promise) as { acts: Act[] }).acts;
}

const actsOf = (world: World, id = POOL): Act[] => world.temporal.query(id, acts.name) as Act[];
const shown = (some: readonly Act[]): string[] =>
  some.map(({ action, vms, end }) => `${action} ${vms.toSorted().join()} ${end}`);
const isUpdated = (world: World, count: number) => (): boolean =>
  statusOf(world)?.updatedReplicas === count && isReady(world, count)();

test('a pool records which VMs came, changed and went, the requests of users, and why', () =>
  play(async (world) => {
    await begun(world, { replicas: 3, maxUnavailable: 1 });
    const [made] = actsOf(world);
    expect(made).toMatchObject({
      requestedBy: 'drover',
      reason: 'create web-1 … web-3: 3 missing of 3',
      workflow: POOL,
    });
    expect(Date.parse(made!.endedAt!)).toBeGreaterThanOrEqual(Date.parse(made!.time));
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    expect(await world.until(() => shown(actsOf(world)).some((one) => one.endsWith('InProgress')), MINUTE_MS)).toBe(
      true,
    );
    world.people.signal('web', 'pause', { by: 'ann', reason: 'lunch' });
    await world.wait(20_000);
    world.people.signal('web', 'resume', { by: 'ann' });
    expect(await world.until(isUpdated(world, 3), 5 * MINUTE_MS)).toBe(true);
    await world.people.changePool('web', { replicas: 2 });
    expect(await world.until(isReady(world, 2), MINUTE_MS)).toBe(true);
    await world.wait(MINUTE_MS);
    const told = actsOf(world);
    const updates = told.filter(({ action }) => action === 'restart');
    expect(updates.flatMap(({ vms }) => vms).sort()).toEqual(['web-1', 'web-2', 'web-3']);
    expect(new Set(updates.map(({ end, from, to }) => [end, from, to].join()))).toEqual(
      new Set([['Updated', made!.to, updates[0]!.to].join()]),
    );
    for (const { workflow } of updates) expect(workflow).toMatch(new RegExp(`^${POOL}/update/${updates[0]!.to}/\\d+$`));
    const others = told.filter(({ action }) => action !== 'restart');
    expect(shown(others)).toEqual([
      'create web-1,web-2,web-3 Done',
      'pause  Requested',
      'resume  Requested',
      'scale  Done',
      expect.stringMatching(/^delete web-\d Done$/),
    ]);
    expect(others[1]).toMatchObject({ requestedBy: 'ann', message: 'lunch', reason: null });
  }));

test('an adoption is recorded beside the number that changes with it, and so is a detachment', () =>
  play(async (world) => {
    await begun(world, { replicas: 1 });
    await world.people.createVm('old', {});
    await world.people.take('web', ['old']);
    expect(await world.until(isReady(world, 2), MINUTE_MS)).toBe(true);
    await world.people.letGo(['old'], true);
    await world.wait(MINUTE_MS);
    const [, ...told] = actsOf(world);
    expect(shown(told).sort()).toEqual(['adopt old Done', 'detach old Done', 'scale  Done', 'scale  Done']);
  }));

test('the records outlive the runs of a workflow, and a deleted pool leaves them as its result', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 2 });
      const { runId } = world.temporal.runs.get(POOL)!;
      while (world.temporal.runs.get(POOL)!.runId === runId) {
        world.temporal.signal(POOL, 'changed', []);
        await world.wait(300);
      }
      expect(shown(actsOf(world))).toEqual(['create web-1,web-2 Done']);
      await world.people.deletePool('web');
      expect(shown(await resultOf(world, POOL))).toEqual(['create web-1,web-2 Done', 'delete web-1,web-2 Done']);
    },
    { longHistory: 60 },
  ));

test('each replacement of an unhealthy VM is recorded, with the outcome of the new VM', () =>
  play(async (world) => {
    const backoff = { initial: '5s', jitter: 0 };
    const autohealing = { startupFailureThreshold: 1, maxUnhealthy: '100%', maxAttempts: 2, backoff };
    await begun(world, { replicas: 3, autohealing });
    crashLoop(world, 'web-2');
    const heals = (): Act[] => actsOf(world).filter(({ action }) => action === 'heal');
    expect(await world.until(() => heals()[0]?.end === 'InProgress', 5 * MINUTE_MS)).toBe(true);
    await world.people.heal('web', { action: 'now', vms: ['web-2'] });
    expect(await world.until(() => heals()[0]?.end === 'Healed', 30 * MINUTE_MS)).toBe(true);
    expect(heals()).toMatchObject([{ vms: ['web-2'], requestedBy: 'drover' }]);
    expect(heals()[0]!.reason).toMatch(/^heal web-2: /);
    expect(actsOf(world)).toContainEqual(
      expect.objectContaining({ action: 'heal now', vms: ['web-2'], requestedBy: 'ann', end: 'Done' }),
    );
  }));

test('a replica set records which VMs came, as its own act', () =>
  play(
    async (world) => {
      const kind = 'VirtualMachineReplicaSet';
      await createSet(world, { kind, replicas: 2, bootMs: 500, stopMs: 100 });
      await world.wait(30_000);
      const told = actsOf(world, ownerIdOf(kind, refOf(SETS[kind])));
      expect(told).toMatchObject([{ action: 'create', end: 'Done', requestedBy: 'drover' }]);
      expect(told[0]!.vms).toHaveLength(2);
    },
    { owners: ['VirtualMachinePool', 'VirtualMachineReplicaSet'] },
  ));

test('a restart of VMs of any owner records how each ended, and the requester', () =>
  play(async (world) => {
    await begun(world, { replicas: 3 });
    const uids = ['web-1', 'web-2', 'web-3'].map((name) => [name, world.vmi(name)!.metadata.uid]);
    const id = operate(world, {
      action: 'Restart',
      chosen: { [NAMESPACE]: Object.fromEntries(uids) as Record<string, string> },
      atOnce: 1,
      maxFailures: 0,
      deadlineMs: MINUTE_MS,
      requestedBy: 'ann',
      reason: 'leaks',
    });
    await world.wait(1_000);
    expect(actsOf(world, id)).toMatchObject([{ action: 'restart', end: 'InProgress', endedAt: null }]);
    const told = await resultOf(world, id);
    expect(told.flatMap(({ vms }) => vms).sort()).toEqual(uids.map(([name]) => `${NAMESPACE}/${name}`));
    for (const act of told)
      expect(act).toMatchObject({ end: 'Restarted', requestedBy: 'ann', reason: 'restart: leaks', workflow: id });
  }));

test('a machine type transition records the old and new type of each VM and template, and each restart', () =>
  play(async (world) => {
    await begun(world, { replicas: 1, template: aTemplate({ machineType: OLD }) });
    await world.people.createVm('lone', { machineType: OLD });
    expect(await world.until(() => isRunning(world.vmi('lone')), MINUTE_MS)).toBe(true);
    const scope = { glob: '*rhel8*', namespaces: null, labelSelector: null, names: [], exclude: [], only: null };
    const how = {
      restartNow: true,
      maxRestarts: 1,
      maxFailures: 0,
      deadlineMs: 5 * MINUTE_MS,
      windows: [],
      force: false,
    };
    const { run } = world.people.startTransition({
      scope: { ...scope, undoes: null },
      to: NEW,
      ...how,
      requestedBy: 'ann',
      reason: null,
    });
    const told = await resultOf(world, run);
    const asked = { requestedBy: 'ann', reason: null };
    expect(told).toContainEqual(
      expect.objectContaining({
        action: 'machine type',
        vms: [`${NAMESPACE}/lone`],
        from: OLD,
        to: NEW,
        end: 'Done',
        ...asked,
      }),
    );
    expect(told).toContainEqual(
      expect.objectContaining({ action: 'restart', vms: [`${NAMESPACE}/lone`], end: 'Restarted', ...asked }),
    );
  }));
