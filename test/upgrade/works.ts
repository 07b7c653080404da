import { expect } from 'vitest';
import { TestDrain } from '../integration/drain/drains.ts';
import type { TestFleet } from '../integration/fleet.ts';
import { until } from '../integration/fleet.ts';
import { HealedPool, withDisk, type Lives } from '../integration/healing/healings.ts';
import { aSecondLater, TestOperation } from '../integration/operations/operations.ts';
import { TestVms } from '../integration/power/vms.ts';
import type { ReadinessWatch } from '../integration/readiness-watch.ts';
import { templateOf, TestPool } from '../integration/rollout/rollouts.ts';

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

/** A rollout of one VM after another. */
export async function aRollout(fleet: TestFleet): Promise<Work> {
  const pool = await TestPool.ready(fleet, { replicas: VMS, maxUnavailable: 1, template: template(1) });
  const before = await uidsOf(pool);
  const watch = await pool.watched();
  let revision = '';
  return {
    begin: async () => void (revision = await pool.change(template(2))),
    untilPart: (part) => untilRestarted(watch, Object.keys(before), DONE[part]),
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

/** An operation that restarts one VM after another. */
export async function anOperation(fleet: TestFleet): Promise<Work> {
  const names = Array.from({ length: VMS }, (_, index) => `db-${index + 1}`);
  const vms = await TestVms.of(fleet, Object.fromEntries(names.map((name) => [name, { vmi: TIMES }])));
  let operation: TestOperation;
  return {
    begin: async () => {
      await aSecondLater();
      operation = await TestOperation.make(fleet.kube, vms.namespace, { action: 'Restart', vms: { names } });
    },
    untilPart: (part) => untilRestarted(vms.watch, names, DONE[part]),
    untilDone: async () => {
      await until(async () => expect((await operation.read())?.status?.completionTime).toBeDefined());
      expect((await operation.read())?.status).toMatchObject({
        conditions: expect.arrayContaining([expect.objectContaining({ type: 'Complete', status: 'True' })]) as unknown,
      });
      await expectOneRestartEach(vms.watch, names);
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
