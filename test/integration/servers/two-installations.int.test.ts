import { expect, test } from 'vitest';
import { drover, nowhere } from '../../clients/drover.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { orderOfRestarts, templateOf, TestPool } from '../rollout/rollouts.ts';

const fleet = aFleet();

/** Starts a worker that works for another namespace in Temporal, as a second installation of drover does. */
async function anotherInstallation(): Promise<void> {
  const { connection } = fleet().temporal;
  const namespace = 'another';
  const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
  const workflowExecutionRetentionPeriod = config!.workflowExecutionRetentionTtl!;
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  const env = { ...nowhere, ...fleet().stack.env, TEMPORAL_NAMESPACE: namespace };
  // A new namespace is served after a moment.
  await until(async () => expect(await drover(['setup'], env)).toMatchObject({ code: 0 }));
  await fleet().startWorker({ TEMPORAL_NAMESPACE: namespace });
}

test('two installations that serve one cluster by mistake make no VM twice and take no place of a budget twice', async () => {
  await anotherInstallation();
  const pool = await TestPool.ready(fleet(), { replicas: 6, maxUnavailable: 2 });
  expect(await fleet().vmNames(pool.namespace, 'web')).toEqual(namesUpTo('web', 6));
  const watch = await pool.watched();
  await pool.untilComplete(await pool.change(templateOf({ cores: 2 })));
  await watch.caughtUp();
  expect(watch.log.extremes()).toEqual({ fewestReady: 4, mostVms: 6 });
  expect(orderOfRestarts(watch).toSorted()).toEqual(namesUpTo('web', 6));
  await pool.patch({ replicas: 3 });
  await until(async () => expect(await fleet().vmNames(pool.namespace, 'web')).toHaveLength(3));
  await pool.until({ replicas: 3, readyReplicas: 3 });
  await watch.caughtUp();
  expect(watch.log.extremes()).toMatchObject({ mostVms: 6 });
});
