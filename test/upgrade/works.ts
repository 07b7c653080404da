import { expect } from 'vitest';
import { PersistentVolumeClaims, VirtualMachinePools } from '../../api/resources.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import { TestDrain } from '../integration/drain/drains.ts';
import { namesUpTo, until, type PoolObject, type TestFleet } from '../integration/fleet.ts';
import { HealedPool, withDisk, type Lives } from '../integration/healing/healings.ts';
import { OLD, TypedVms } from '../integration/machine-types/machine-types.ts';
import { aSecondLater, TestOperation } from '../integration/operations/operations.ts';
import { TestVms } from '../integration/power/vms.ts';
import type { ReadinessWatch } from '../integration/readiness-watch.ts';
import { approvalAt, templateOf, TestPool } from '../integration/rollout/rollouts.ts';
import { TestSchedule } from '../integration/schedules/schedules.ts';

/** Something that drover does for a while, and that an upgrade comes in the middle of. */
export interface Work {
  begin(): Promise<void>;
  /** Resolves when the work is in the middle: `part` of two. */
  untilPart(part: 1 | 2): Promise<void>;
  /** Resolves when all of it is done, and nothing twice. */
  untilDone(): Promise<void>;
}

/** How many VMs the longer works have. */
const VMS = 10;
/** So many of them are done when the first part is, and the second. */
const DONE = { 1: 2, 2: 5 };
const TIMES = { 'sim.drover.dev/boot-time': '700ms', 'sim.drover.dev/stop-time': '100ms' };

const template = (cores: number) => templateOf({ cores, annotations: TIMES });

/** A rollout of one VM after another, which waits for approval between the parts. */
export async function aRollout(fleet: TestFleet): Promise<Work> {
  const rollout = { steps: [approvalAt(DONE[1] + 1)] };
  const pool = await TestPool.ready(fleet, { replicas: VMS, maxUnavailable: 1, template: template(1), rollout });
  const before = await uidsOf(pool);
  const watch = await pool.watched();
  let revision = '';
  return {
    begin: async () => void (revision = await pool.change(template(2))),
    untilPart: async (part) => {
      if (part === 2) {
        await pool.seen((status) => expect(status.rollout?.stepReachedAt).toBeDefined());
        await pool.request('promote');
      }
      await untilRestarted(watch, Object.keys(before), DONE[part]);
    },
    untilDone: async () => {
      await pool.untilComplete(revision);
      await expectOneRestartEach(watch, Object.keys(before));
      expect(watch.log.peak({ replicas: VMS }).unavailable).toBe(1);
      expect(await uidsOf(pool)).toEqual(before);
    },
  };
}

const uidsOf = async (pool: TestPool): Promise<Record<string, string>> =>
  Object.fromEntries([...(await pool.vms())].map(([name, { metadata }]) => [name, metadata.uid]));

const untilRestarted = (watch: ReadinessWatch, names: string[], count: number): Promise<void> =>
  until(async () => {
    const restarted = names.filter((name) => watch.log.restartsOf(name).length > 0);
    expect(restarted.length).toBeGreaterThanOrEqual(count);
  });

async function expectOneRestartEach(watch: ReadinessWatch, names: string[]): Promise<void> {
  await watch.caughtUp();
  expect(watch.gaps).toEqual([]);
  expect(names.map((name) => [name, watch.log.restartsOf(name).length])).toEqual(names.map((name) => [name, 1]));
}

const NAMES = namesUpTo('db', VMS);
const shaped = <S>(shape: S): Record<string, S> => Object.fromEntries(NAMES.map((name) => [name, shape]));

/** Restarts of one VM after another by an operation: `begin` returns how to read it. */
function restarts(watch: ReadinessWatch, begin: () => Promise<() => Promise<StoredOperation | undefined>>): Work {
  let read: Awaited<ReturnType<typeof begin>>;
  return {
    begin: async () => {
      await aSecondLater();
      read = await begin();
    },
    untilPart: (part) => untilRestarted(watch, NAMES, DONE[part]),
    untilDone: async () => {
      await until(async () => expect((await read())?.status?.completionTime).toBeDefined());
      expect((await read())?.status).toMatchObject({
        conditions: expect.arrayContaining([expect.objectContaining({ type: 'Complete', status: 'True' })]) as unknown,
      });
      await expectOneRestartEach(watch, NAMES);
    },
  };
}

/** An operation that a user makes. */
export async function anOperation(fleet: TestFleet): Promise<Work> {
  const vms = await TestVms.of(fleet, shaped({ vmi: TIMES }));
  return restarts(vms.watch, async () => {
    const spec = { action: 'Restart', vms: { names: NAMES } } as const;
    const operation = await TestOperation.make(fleet.kube, vms.namespace, spec);
    return () => operation.read();
  });
}

/** The one operation that a schedule makes. */
export async function aSchedule(fleet: TestFleet): Promise<Work> {
  const vms = await TestVms.of(fleet, shaped({ vmi: TIMES }));
  const operationTemplate = { spec: { action: 'Restart', vms: { names: NAMES }, atOnce: 1 } } as const;
  const schedule = await TestSchedule.make(fleet, vms.namespace, { operationTemplate });
  return restarts(vms.watch, async () => {
    await schedule.wasDue(1);
    return async () => {
      const [made, ...others] = await schedule.operations();
      expect(others).toEqual([]);
      return made;
    };
  });
}

/** An operation that gives VMs another machine type. */
export async function aTransition(fleet: TestFleet): Promise<Work> {
  const typed = await TypedVms.of(fleet, shaped({ simulation: TIMES }));
  const { watch } = await TestVms.in(fleet, typed.namespace);
  await watch.startRecording();
  const work = restarts(watch, async () => {
    const { operation } = await typed.change({ restartNow: true });
    return () => operation.read();
  });
  const untilDone = async (): Promise<void> => {
    await work.untilDone();
    for (const name of NAMES) expect(await typed.type(name)).not.toBe(OLD);
  };
  return { ...work, untilDone };
}

/** VMs that leave, and whose disks wait for the VMs that come back. */
export async function aScaleIn(fleet: TestFleet): Promise<Work> {
  const annotations = { ...TIMES, 'sim.drover.dev/stop-time': '25s' };
  const scaleInStrategy = { proactive: { statePreservation: 'Offline' as const } };
  const pool = await TestPool.ready(fleet, { replicas: VMS, template: withDisk({ annotations }), scaleInStrategy });
  const { namespace } = pool;
  const disks = async (): Promise<Record<string, string>> => {
    const { items } = await fleet.kube.list(PersistentVolumeClaims, { namespace });
    return Object.fromEntries(items.map(({ metadata: { name, uid } }) => [name, uid]));
  };
  const [uids, before] = await Promise.all([uidsOf(pool), disks()]);
  const least = DONE[2];
  return {
    begin: async () => void (await pool.patch({ replicas: least })),
    untilPart: async (part) => {
      // VMs that are being deleted are not counted.
      if (part === 1) return void (await pool.until({ replicas: least }));
      await until(async () => expect(Object.keys(await uidsOf(pool))).toHaveLength(least));
      expect(uids).toMatchObject(await uidsOf(pool));
      expect(await disks()).toEqual(before);
      await pool.patch({ replicas: VMS });
      await until(async () => expect(Object.keys(await uidsOf(pool)).length).toBeGreaterThan(least));
    },
    untilDone: async () => {
      await fleet.settled(namespace, 'web', namesUpTo('web', VMS));
      await pool.until({ readyReplicas: VMS });
      expect((await pool.status()).keptDisks ?? 0).toBe(0);
      expect(await disks()).toEqual(before);
    },
  };
}

const vmsOf = (pools: readonly string[]): string[] => pools.map((pool) => `${pool}-1`);

/** Rollouts of many pools at once: half of them in each part. */
export async function manyPools(fleet: TestFleet): Promise<Work> {
  const vms = await TestVms.empty(fleet);
  const { namespace } = vms;
  const pools = namesUpTo('p', 50);
  const half = (part: 1 | 2): string[] => pools.filter((_, index) => index % 2 === part - 1);
  const change = (part: 1 | 2) =>
    Promise.all(half(part).map((pool) => fleet.patchPool(namespace, pool, { template: template(2) })));
  const untilUpdated = (): Promise<void> =>
    until(async () => {
      const { items } = await fleet.kube.list<PoolObject>(VirtualMachinePools, { namespace });
      for (const { metadata, status } of items)
        expect(status).toMatchObject({
          observedGeneration: metadata.generation,
          updatedReplicas: 1,
          readyReplicas: 1,
          currentRevision: status?.updateRevision,
        });
    });
  await Promise.all(pools.map((pool) => fleet.createPool(namespace, pool, { template: template(1) })));
  await vms.ready(vmsOf(pools));
  await untilUpdated();
  await vms.watch.startRecording();
  return {
    begin: async () => void (await change(1)),
    untilPart: async (part) => {
      if (part === 2) await change(2);
      await untilRestarted(vms.watch, vmsOf(half(part)), DONE[part]);
    },
    untilDone: async () => {
      await untilUpdated();
      await expectOneRestartEach(vms.watch, vmsOf(pools));
    },
  };
}

/** The replacement of one VM, and of another one later. */
export async function aHeal(fleet: TestFleet): Promise<Work> {
  const healed = await HealedPool.ready(fleet, { replicas: 3, template: withDisk({ annotations: TIMES }) });
  const lives: Lives = await healed.lives();
  const before = { 1: await healed.uid(1), 2: await healed.uid(2) };
  const isAttempted = (number: 1 | 2): Promise<void> => healed.untilCycle(number, { attempt: 1 });
  return {
    begin: () => healed.break(1),
    untilPart: async (part) => {
      if (part === 2) {
        await healed.replaced(1, before[1]);
        await healed.break(2);
      }
      await isAttempted(part);
    },
    untilDone: async () => {
      for (const number of [1, 2] as const) {
        await healed.replaced(number, before[number]);
        await healed.untilFinished(number, {});
        lives.expectFresh(number, 2);
      }
      lives.expectFresh(3, 1);
    },
  };
}

/** Two VMs that leave their nodes, one after the other. */
export async function aDrain(fleet: TestFleet): Promise<Work> {
  const drain = await TestDrain.in(fleet);
  await drain.pool('web', { replicas: 3, maxUnavailable: 1 }, { 'sim.drover.dev/migration-time': '4s' });
  const before = await drain.uids();
  const leaving = ['web-1', 'web-2'];
  const begun = async (): Promise<number> => {
    const all = await Promise.all(leaving.map(async (vm) => Object.keys(await drain.migrations(vm))));
    return all.filter((attempts) => attempts.length > 0).length;
  };
  return {
    begin: async () => void (await Promise.all(leaving.map((vm) => drain.evict(vm)))),
    untilPart: (part) => until(async () => expect(await begun()).toBeGreaterThanOrEqual(part)),
    untilDone: async () => {
      for (const vm of leaving) await until(async () => expect(await drain.migrations(vm)).toEqual({ 1: 'Succeeded' }));
      expect(await drain.uids()).toEqual(before);
      await until(async () => expect(await fleet.condition(drain.namespace, 'web', 'Draining')).toBeUndefined());
    },
  };
}
