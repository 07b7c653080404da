/* oxlint-disable unicorn/no-thenable -- the word is the user's */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { withHeartbeat } from '../../../activities/lib/heartbeat.ts';
import type { UpdateActivities } from '../../../activities/rollout/update-vms.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { updateBatchIdOf } from '../../../workflows/lib/messages.ts';
import { aTemplate } from '../../decisions/fixtures/rollout-pools.ts';
import type { FakeCluster } from '../fake-cluster.ts';
import { aTimeSkippingServer, soon } from '../time-skipping.ts';
import { aTimedPool, MINUTE, template } from '../timed-pool.ts';

const server = aTimeSkippingServer();

test('a creation is tried again after 1 s, then after twice as long each time, a minute at most', async () => {
  const pool = await aTimedPool(server());
  pool.cluster.refusal = 'exceeded quota';
  await pool.change({ replicas: 6 });
  const wanted = [1, 2, 4, 8, 16, 32, 60, 60];
  await server().passUntil(() => pool.cluster.times('create').length > wanted.length, '1m');
  const times = pool.cluster.times('create');
  const timers = await pool.timersAfterEach('createVms');
  // Not how late an attempt may be, which depends on the machine, but how long the workflow meant to wait for it.
  for (const [index, seconds] of wanted.entries()) {
    expect(times[index + 1]! - times[index]!).toBeGreaterThanOrEqual(seconds * 1_000);
    expect(Math.max(...timers[index]!)).toBeLessThanOrEqual(seconds * 1_000);
  }
  expect(pool.cluster.acts.at(-1)!.vms).toHaveLength(1);
  expect((await pool.progress()).retryAt).not.toBeNull();

  pool.cluster.refusal = null;
  await server().passUntil(() => pool.cluster.vms.size === 6, '1m');
  await soon(async () => expect((await pool.progress()).retryAt).toBeNull());

  // The success has ended the series of failures.
  pool.cluster.refusal = 'exceeded quota';
  const before = pool.cluster.acts.length;
  await pool.change({ replicas: 7 });
  await server().passUntil(() => pool.cluster.times('create').length > before + 1, '1s');
  const [first = 0, second = 0] = pool.cluster.times('create').slice(before);
  expect(second - first).toBeGreaterThanOrEqual(1_000);
  const [longest = Infinity] = (await pool.timersAfterEach('createVms'))[before]!.toSorted((a, b) => b - a);
  expect(longest).toBeLessThanOrEqual(1_000);
});

test('a status that could not be written is written once it can be, though nothing else happens to the pool', async () => {
  let isAway = true;
  const pool = await aTimedPool(server());
  pool.cluster.isReadOnly = ({ replicas }) => isAway && replicas === 5;
  await soon(() => expect(pool.cluster.pool.status?.replicas).toBe(4));
  await pool.change({ replicas: 5 });
  await server().pass('3m');
  expect(pool.cluster.pool.status?.replicas).toBe(4);
  isAway = false;
  await server().pass('1m');
  await soon(() => expect(pool.cluster.pool.status?.replicas).toBe(5));
});

test('a pool that no plan can be made for says so, and a timer tries again until one can', async () => {
  let isAway = false;
  let plans = 0;
  const pool = await aTimedPool(server(), {}, (cluster) => ({
    plan: (...args: Parameters<typeof cluster.activities.plan>) => {
      plans++;
      return isAway ? Promise.reject(new Error('the API server is away')) : cluster.activities.plan(...args);
    },
  }));
  const { length: known } = await pool.timers();
  isAway = true;
  await pool.change({ replicas: 5 });
  const failure = { reason: 'NotPlanned', message: 'the API server is away' };
  await soon(async () => expect((await pool.progress()).recentErrors).toContainEqual(expect.objectContaining(failure)));
  const before = plans;
  // Three attempts each time, with at most 10 s in between.
  await server().passUntil(() => plans - before >= 3 * 7, '10s');
  const timers = (await pool.timers()).slice(known);
  expect(timers.slice(0, 6)).toEqual([1, 2, 4, 8, 10, 10].map((seconds) => seconds * 1_000));
  isAway = false;
  await server().passUntil(() => pool.cluster.vms.size === 5, '10s');
});

test('a step whose outcome is unknown stays in doubt if no plan could be made since', async () => {
  let isAway = false;
  const doubts: boolean[] = [];
  const pool = await aTimedPool(server(), {}, (cluster) => ({
    plan: (...args: Parameters<typeof cluster.activities.plan>) => {
      doubts.push(args[0].resultUnknown);
      return isAway ? Promise.reject(new Error('the API server is away')) : cluster.activities.plan(...args);
    },
    createVms: () => {
      isAway = true;
      return Promise.reject(new Error('the connection broke'));
    },
  }));
  await pool.change({ replicas: 5 });
  await server().passUntil(() => doubts.filter((isInDoubt) => isInDoubt).length > 3 + 3, '10s');
  expect(doubts.slice(doubts.indexOf(true))).not.toContain(false);
});

test('notes on VMs that are requested while others are written are written right after', async () => {
  const written = Promise.withResolvers<void>();
  let notes = 0;
  const pool = await aTimedPool(server(), { autohealing: {} }, (cluster) => ({
    annotateRuns: async (...args: Parameters<NonNullable<typeof cluster.activities.annotateRuns>>) => {
      if (++notes === 1) await withHeartbeat(() => Promise.race([written.promise, Context.current().cancelled]));
      await cluster.activities.annotateRuns!(...args);
    },
  }));
  const { cluster } = pool;
  await soon(() => expect(notes).toBe(1));
  await pool.change({ replicas: 6 });
  await soon(() => expect(cluster.pool.status?.readyReplicas).toBe(6));
  expect(notes).toBe(1);
  written.resolve();
  const unnoted = () => [...cluster.vms.values()].filter(({ notYetRun }) => notYetRun !== null);
  await soon(() => expect(unnoted()).toEqual([]));
});

test('a batch that could not begin is tried again after 1 s, then after twice as long each time', async () => {
  const pool = await aTimedPool(server());
  const next = template('two');
  // The workflow IDs of the first four batches are taken.
  const nameConflicts = [1, 2, 3, 4].map((n) => updateBatchIdOf(pool.ref, revisionOf(next), n));
  for (const workflowId of nameConflicts) await pool.takeWorkflowId(workflowId);
  await pool.change({ template: next });
  const begunAt = await server().now();
  await server().passUntil(() => pool.cluster.times('update').length > 0, '1s');
  await pool.completed();
  const [first = 0] = pool.cluster.times('update');
  expect(first - begunAt).toBeGreaterThanOrEqual((1 + 2 + 4 + 8) * 1_000);
});

test('a batch whose workflow fails is replaced at once', async () => {
  const pool = await aTimedPool(server());
  const batch = await pool.heldBatch();
  batch.fail();
  await pool.completed();
  expect(pool.cluster.acts).toHaveLength(2);
  expect(pool.cluster.acts[1]!.vms).toEqual(pool.cluster.acts[0]!.vms);
});

test('a silent batch counts as lost a quarter of an hour after its deadline', async () => {
  const pool = await aTimedPool(server(), { rollout: { progressDeadlineSeconds: 600 } });
  const batch = await pool.heldBatch();
  const runId = await pool.runId();
  await pool.fillHistory();
  await pool.continued(runId);
  // Only the run that started the batch would have been told.
  batch.fail();
  await server().orphanEnded(batch.workflow);

  // An unsettled pool is signalled every few minutes, even if nothing happens to it.
  // Real time passes too, minutes of it on a busy machine.
  await server().pass('15m');
  await pool.notify();
  expect((await pool.progress()).updating).toHaveLength(1);
  await server().pass('11m');
  await pool.notify();
  await pool.completed();
  expect(pool.cluster.acts).toHaveLength(2);
  const [first, second] = pool.cluster.acts;
  expect(second!.vms).toEqual(first!.vms);
  expect(second!.at - first!.at).toBeGreaterThanOrEqual(25 * MINUTE);
});

test('a batch that is given up is asked to end before others take its VMs', async () => {
  let isAway = true;
  const updateVms: UpdateActivities['updateVms'] = (request) =>
    isAway
      ? Promise.reject(ApplicationFailure.create({ message: 'the API server is away', nextRetryDelay: '5m' }))
      : cluster!.activities.updateVms(request);
  let cluster: FakeCluster | undefined;
  const pool = await aTimedPool(server(), { rollout: { progressDeadlineSeconds: 60 } }, (its) => {
    cluster = its;
    return { updateVms };
  });
  await pool.change({ template: template('two') });
  await soon(async () => expect((await pool.progress()).updating).toHaveLength(1));
  const first = await pool.batch(1);
  await server().pass('17m');
  isAway = false;
  await pool.notify();
  await pool.completed();
  await soon(async () => expect((await first.describe()).status.name).toBe('CANCELLED'));
});

const replaces = (minutes: number): Partial<PoolSpec> => ({
  template: aTemplate({ disk: '2Gi' }),
  replicas: 1,
  maxUnavailable: 1,
  updateStrategy: { proactive: { disruption: 'Replace' } },
  rollout: { progressDeadlineSeconds: minutes * 60 },
});

test('a batch whose replacement is refused again and again keeps its history short', async () => {
  const pool = await aTimedPool(server(), replaces(20));
  pool.cluster.refusal = 'exceeded quota: requests.storage';
  await pool.change({ template: aTemplate({ disk: '1Gi' }) });
  await soon(async () => expect((await pool.progress()).updating).toHaveLength(1));
  const batch = await pool.batch(1);
  await server().pass('10m');
  expect(pool.cluster.times('create').length).toBeGreaterThan(50);
  const { events } = await batch.fetchHistory();
  expect(events!.length).toBeLessThan(100);
});

test('VMs that a batch has deleted, and not made again, have failed if its workflow does', async () => {
  const pool = await aTimedPool(server(), replaces(60), () => ({
    createVms: () => Promise.reject(ApplicationFailure.nonRetryable('out of the blue')),
  }));
  await pool.change({ template: aTemplate({ disk: '1Gi' }) });
  await soon(async () => expect((await pool.rollout()).halted).toMatchObject({ kind: 'Failed' }));
  expect((await pool.rollout()).failures).toMatchObject([{ message: 'its batch was ended before it was made again' }]);
});
