import { expect, onTestFinished, test } from 'vitest';
import { aFleet, namesUpTo } from './fleet.ts';
import { badTemplate, TestPool } from './rollouts.ts';

const fleet = aFleet({ workers: 0 });

test('waits for VMs, and the watch, take no slot of what works: with one alone, another pool gets VMs', async () => {
  const worker = await fleet().startWorker({ DROVER_SLOTS: '1' });
  onTestFinished(() => worker.kill());
  const pool = await TestPool.ready(fleet(), { replicas: 2, maxUnavailable: 2 });
  const bad = await pool.change(badTemplate(2));
  await pool.until({ updateRevision: bad, readyReplicas: 0 });
  await fleet().createPool(pool.namespace, 'other', { replicas: 3 });
  await fleet().settled(pool.namespace, 'other', namesUpTo('other', 3));
  // The batch still waits for its VMs.
  expect((await pool.status()).rollout).toMatchObject({ batches: 1, failures: [] });
});
