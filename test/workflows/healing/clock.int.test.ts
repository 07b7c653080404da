import { Context } from '@temporalio/activity';
import { expect, test } from 'vitest';
import type { AwaitRemovalActivities } from '../../../activities/healing/await-removal.ts';
import type { HealActivities } from '../../../activities/healing/heal-vm.ts';
import type { PoolActivities } from '../../../activities/pool/pool.ts';
import type { Autohealing } from '../../../api/pool/pool.ts';
import { vmName } from '../../../decisions/template/vm-names.ts';
import { healVmIdOf } from '../../../workflows/lib/messages.ts';
import { aVmi } from '../../decisions/fixtures/fleets.ts';
import { healingRequest } from '../../requests.ts';
import type { FakeCluster } from '../fake-cluster.ts';
import { aTimeSkippingServer, soon } from '../time-skipping.ts';
import { aTimedPool, HOUR, MINUTE, type TimedPool } from '../timed-pool.ts';

const server = aTimeSkippingServer();

const DAY = 24 * HOUR;
/** In milliseconds: real time passes too while the workflows work. */
const MOMENT = 5_000;
const BACKOFF = { initial: '10s', factor: 2, max: '12h', jitter: 0 };

/** A pool with autohealing, one of whose VMs fails. */
interface SickPool extends TimedPool {
  /** When drover deleted unhealthy VMs, by the workflows' clock. */
  removals: number[];
  /** Makes the running VM fail, and with `forEver` also each of its replacements. */
  breakDown: (name: string, forEver: boolean) => Promise<void>;
  mend: () => void;
}

function fail({ vms, vmis }: FakeCluster, name: string, since: number): void {
  const vm = { ...vms.get(name)!, ready: false, state: 'CrashLoopBackOff', startFailures: 3, notReadySince: since };
  vms.set(name, vm);
  vmis.set(name, aVmi(vm, { phase: 'Failed' }));
}

async function aSickPool(backoff: NonNullable<Autohealing['backoff']>): Promise<SickPool> {
  const removals: number[] = [];
  let failing: string | null = null;
  const others = (cluster: FakeCluster): Partial<PoolActivities & HealActivities & AwaitRemovalActivities> => ({
    removeUnhealthyVm: async (_, { name }) => {
      removals.push(Context.current().info.currentAttemptScheduledTimestampMs);
      cluster.vms.delete(name);
      cluster.vmis.delete(name);
      await cluster.onChange();
      return { end: 'Removed', events: [], keptDisks: false };
    },
    awaitRemoval: () => Promise.resolve({}),
    recordHealing: async () => {},
    createVms: async (...args) => {
      const done = await cluster.activities.createVms(...args);
      const [{ name }, numbers] = args;
      const failed = numbers.map((number) => vmName(name, number)).find((vm) => vm === failing);
      if (failed !== undefined) {
        fail(cluster, failed, Context.current().info.currentAttemptScheduledTimestampMs);
        await cluster.onChange();
      }
      return done;
    },
  });
  const pool: SickPool = Object.assign(await aTimedPool(server(), { autohealing: { backoff } }, others), {
    removals,
    breakDown: async (name: string, forEver: boolean) => {
      failing = forEver ? name : null;
      fail(pool.cluster, name, await server().now());
      await pool.cluster.onChange();
    },
    mend: () => void (failing = null),
  });
  return pool;
}

/** From the deletion of each VM to the creation of the next, in seconds. The last VM may have no successor yet. */
const delays = ({ cluster, removals }: SickPool): number[] =>
  cluster.times('create').map((at, index) => Math.round((at - removals[index]!) / 1000));

const healing = ({ cluster }: SickPool) => cluster.pool.status?.healing;

test('a VM that never runs well is replaced for days, each delay twice the last up to the longest, until it does', async () => {
  const pool = await aSickPool({ ...BACKOFF, initial: '1h' });
  await pool.breakDown('web-4', true);
  await soon(() =>
    expect(healing(pool)?.cycles).toMatchObject([
      { vm: 'web-4', phase: 'Waiting', nextAt: expect.any(String) as string },
    ]),
  );
  const begun = pool.removals[0]!;
  // In steps: each replacement takes the workflows a moment, which skipped time must not overtake.
  while ((await server().now()) < begun + 2 * DAY) {
    const attempts = pool.removals.length;
    const nextAt = Date.parse(healing(pool)!.cycles[0]!.nextAt!);
    await server().pass(Math.max(nextAt - (await server().now()) + 1_000, 1_000));
    await soon(() => {
      expect(pool.removals).toHaveLength(attempts + 1);
      expect(healing(pool)?.cycles).toMatchObject([
        { phase: 'Waiting', attempt: attempts + 1, nextAt: expect.any(String) as string },
      ]);
    });
  }
  const expected = Array.from(
    { length: pool.cluster.times('create').length },
    (_, index) => Math.min(2 ** index, 12) * 3600,
  );
  const waited = delays(pool);
  expect(waited.length).toBeGreaterThan(5);
  for (const [index, seconds] of expected.entries()) {
    expect(waited[index]).toBeGreaterThanOrEqual(seconds);
    expect(waited[index]).toBeLessThan(seconds + MOMENT / 1000);
  }
  pool.mend();
  await server().pass('12h');
  await server().pass('1m');
  await soon(() =>
    expect(healing(pool)).toMatchObject({
      cycles: [],
      finished: [{ vm: 'web-4', end: 'Healed', attempts: pool.removals.length }],
    }),
  );
});

test("a delay outlives the pool's run that it began in", async () => {
  const pool = await aSickPool({ ...BACKOFF, initial: '3h' });
  await pool.breakDown('web-4', false);
  await soon(() =>
    expect(healing(pool)?.cycles).toMatchObject([{ phase: 'Waiting', nextAt: expect.any(String) as string }]),
  );
  const run = await pool.runId();
  await pool.fillHistory();
  await pool.continued(run);
  await server().pass('2h');
  expect(pool.cluster.times('create')).toEqual([]);
  const passing = server().pass('61m');
  await server().orphanEnded(server().client.workflow.getHandle(healVmIdOf(pool.ref, 'web-4', 1)));
  await passing;
  await soon(() => expect(healing(pool)).toMatchObject({ cycles: [], finished: [{ end: 'Healed', attempts: 1 }] }));
  expect(pool.cluster.times('create')).toHaveLength(1);
});

test.each(['120h', '999999999h999999999h999999999h'])('a user ends a delay of %s', async (initial) => {
  const pool = await aSickPool({ ...BACKOFF, initial, max: initial });
  await pool.breakDown('web-4', false);
  await soon(() =>
    expect(healing(pool)?.cycles).toMatchObject([{ phase: 'Waiting', nextAt: expect.any(String) as string }]),
  );
  await server().pass('24h');
  expect(pool.cluster.times('create')).toEqual([]);
  await pool.request(healingRequest({ action: 'now', vms: ['web-4'] }, { by: 'kim' }));
  await soon(() => expect(healing(pool)).toMatchObject({ cycles: [], finished: [{ end: 'Healed' }] }));
  expect(pool.cluster.times('create')[0]! - pool.removals[0]!).toBeLessThan(24 * HOUR + MINUTE);
});

test('an unreadable delay, in a pool that was stored before such were refused, has the default length', async () => {
  const pool = await aSickPool({ initial: '1d', jitter: 0 });
  await pool.breakDown('web-4', false);
  await soon(() =>
    expect(healing(pool)?.cycles).toMatchObject([{ phase: 'Waiting', nextAt: expect.any(String) as string }]),
  );
  await server().pass('12s');
  await soon(() => expect(healing(pool)).toMatchObject({ cycles: [], finished: [{ end: 'Healed' }] }));
});

test('an attempt whose workflow ID is still used by another cycle starts once that one is cancelled, and ignores its messages', async () => {
  const pool = await aSickPool({ ...BACKOFF, initial: '0s' });
  const earlier = await pool.takeWorkflowId(healVmIdOf(pool.ref, 'web-4', 1));
  await pool.breakDown('web-4', false);
  await soon(async () => expect((await earlier.describe()).status.name).toMatch(/^CANCELL?ED$/));
  expect(healing(pool)).toMatchObject({ cycles: [{ phase: 'Removing', attempt: 1 }], finished: [] });
  expect(pool.removals).toEqual([]);
  await server().pass('6s');
  await soon(() =>
    expect(healing(pool)).toMatchObject({ cycles: [], finished: [{ vm: 'web-4', end: 'Healed', attempts: 1 }] }),
  );
  expect(pool.removals).toHaveLength(1);
});

test('an attempt whose workflow was lost is begun again ten minutes after its delay, and keeps to that', async () => {
  const pool = await aSickPool({ ...BACKOFF, initial: '3h' });
  await pool.breakDown('web-4', false);
  await soon(() =>
    expect(healing(pool)?.cycles).toMatchObject([{ phase: 'Waiting', nextAt: expect.any(String) as string }]),
  );
  const attempt = server().client.workflow.getHandle(healVmIdOf(pool.ref, 'web-4', 1));
  const { runId } = await attempt.describe();
  // The server would hold time for an activity that is still in progress.
  await soon(async () => expect((await attempt.describe()).raw.pendingActivities ?? []).toEqual([]));
  // The server does not tell a parent that its child was terminated.
  await attempt.terminate('by a person');
  await server().pass(3 * HOUR);
  expect((await attempt.describe()).runId).toBe(runId);
  await server().pass(11 * MINUTE);
  await soon(() => expect(healing(pool)).toMatchObject({ cycles: [], finished: [{ end: 'Healed', attempts: 1 }] }));
  expect((await attempt.describe()).runId).not.toBe(runId);
  expect(pool.removals).toHaveLength(1);
});
