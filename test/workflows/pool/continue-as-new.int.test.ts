/* oxlint-disable unicorn/no-thenable -- the word is the user's */
import { expect, test } from 'vitest';
import { BatchCache } from '../../../activities/rollout/batch-cache.ts';
import { pause, resume } from '../../../workflows/lib/messages.ts';
import { rolloutRequest } from '../../requests.ts';
import { aTimeSkippingServer, soon } from '../time-skipping.ts';
import { aTimedPool } from '../timed-pool.ts';

const server = aTimeSkippingServer();

test('the next run knows the state of the rollout, which batch is in progress, and that it is paused', async () => {
  const pool = await aTimedPool(server(), { rollout: { steps: [{ to: 1, then: { approval: {} } }] } });
  const batch = await pool.heldBatch();
  await pool.workflow.signal(pause, { by: 'anna', reason: 'the weekend' });
  await soon(async () => expect((await pool.rollout()).paused).toMatchObject({ by: 'anna', reason: 'the weekend' }));
  const rollout = await pool.rollout();
  const { updating } = await pool.progress();
  expect(updating).toMatchObject([{ n: 1, vms: pool.cluster.acts[0]!.vms }]);

  const runId = await pool.runId();
  await pool.fillHistory();
  await pool.continued(runId);
  expect(await pool.progress()).toMatchObject({ updating });
  expect(await pool.rollout()).toEqual(rollout);

  // The batch reports its end to the current run.
  batch.goOn();
  await server().orphanEnded(batch.workflow);
  await soon(async () => expect(await pool.progress()).toMatchObject({ updating: [] }));
  expect(await pool.rollout()).toMatchObject({ step: 0, batches: 1, failures: [] });
  await server().pass('1h');
  expect(pool.cluster.acts).toHaveLength(1);
  await pool.workflow.signal(resume);
  await soon(async () => expect((await pool.rollout()).stepReachedAt).toBeDefined());
  await server().pass('1h');
  expect(pool.cluster.acts).toHaveLength(1);
  await pool.request(rolloutRequest(pool.cluster.pool, 'promote'));
  await server().pass('1m');
  await pool.completed();
  expect(pool.cluster.acts.map(({ act }) => act)).toEqual(['update', 'update']);
  expect(new Set(pool.cluster.acts.flatMap(({ vms }) => vms)).size).toBe(4);
});

test('no signal is lost that comes while a run continues as new', async () => {
  const pool = await aTimedPool(server());
  const batch = await pool.heldBatch();
  let count = 0;
  // From the status, because this server does not answer a query that arrives while a run continues as new.
  const isHeard = (): void => expect(pool.cluster.pool.status?.rollout?.paused?.by).toBe(String(count));
  for (let times = 1; times <= 3; times++) {
    const runId = await pool.runId();
    const filled = pool.fillHistory();
    // No more signals than the run can handle: it does not continue as new while some are unhandled.
    do {
      const by = String(++count);
      // This server rejects a signal that arrives just as a run continues as new.
      await soon(() => pool.workflow.signal(pause, { by }));
      await soon(isHeard);
    } while ((await pool.runId()) === runId);
    await filled;
  }

  // The end of a batch is also such a signal.
  const runId = await pool.runId();
  const filled = pool.fillHistory();
  batch.goOn();
  await filled;
  await pool.continued(runId);
  // Whatever the server holds time for, the batch has now sent the signal.
  await server().orphanEnded(batch.workflow);
  await soon(async () => expect(await pool.progress()).toMatchObject({ updating: [] }));
  isHeard();
});

test('plans are sent the VMs of a batch once, and those of another worker once more', async () => {
  const pool = await aTimedPool(server(), { replicas: 100, maxUnavailable: '100%' });
  const { cluster } = pool;
  const batch = await pool.heldBatch();
  const [before] = (await pool.progress()).updating;
  expect(before!.vms).toHaveLength(100);
  const turn = async (): Promise<void> => {
    const { plans } = cluster;
    await pool.notify();
    await soon(() => expect(cluster.plans).toBeGreaterThan(plans));
  };
  for (let turns = 1; turns <= 10; turns++) await turn();
  expect(cluster.vmsTold).toBe(100);
  cluster.told = new BatchCache();
  for (let turns = 1; turns <= 3; turns++) await turn();
  await soon(() => expect(cluster.vmsTold).toBe(200));
  expect((await pool.progress()).updating[0]).toEqual(before);
  batch.goOn();
  await pool.completed();
});

test('the delay after a failure continues as it was', async () => {
  const pool = await aTimedPool(server());
  pool.cluster.refusal = 'exceeded quota';
  await pool.change({ replicas: 5 });
  await server().passUntil(() => pool.cluster.times('create').length >= 5, '1s');
  // The delays of 1 s, 2 s, 4 s and 8 s are over; the rest of 16 s remains.
  expect(pool.cluster.times('create')).toHaveLength(5);
  const { retryAt } = await pool.progress();
  const runId = await pool.runId();
  await pool.fillHistory();
  await pool.continued(runId);
  expect((await pool.progress()).retryAt).toBe(retryAt);

  await server().pass('1m');
  const [last = 0, next = 0, afterIt = 0] = pool.cluster.times('create').slice(4);
  expect(next - Date.parse(retryAt!)).toBeGreaterThanOrEqual(0);
  // Less than the next delay: how late an attempt is depends on the machine.
  expect(next - last).toBeLessThan(32_000);
  expect(afterIt - next).toBeGreaterThanOrEqual(32_000);
});
