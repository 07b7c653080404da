import { beforeAll, expect, test } from 'vitest';
import { operationProgress } from '../../../workflows/lib/messages.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { TypedVms, NEW } from '../machine-types/machine-types.ts';
import { aSecondLater, TestOperation } from '../operations/operations.ts';
import { badTemplate, TestPool } from '../rollout/rollouts.ts';

const fleet = aFleet({ workers: 0 });
beforeAll(async () => void (await fleet().startWorker({ DROVER_SLOTS: '1' })));

test('waits for VMs, and the watch, take no slot of real work: another pool gets VMs though there is only one slot', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 2, maxUnavailable: 2 });
  const bad = await pool.change(badTemplate(2));
  await pool.until({ updateRevision: bad, readyReplicas: 0 });
  await fleet().createPool(pool.namespace, 'other', { replicas: 3 });
  await fleet().settled(pool.namespace, 'other', namesUpTo('other', 3));
  // The batch still waits for its VMs.
  expect((await pool.status()).rollout).toMatchObject({ batches: 1, failures: [] });
});

test('restarts and machine type transitions that wait take none either', async () => {
  const typedVms = await TypedVms.of(fleet(), { old: {}, paused: { type: NEW } });
  const { namespace } = typedVms;
  const transition = await typedVms.change();
  await transition.until({ phase: 'Waiting' });
  await typedVms.vmiPower('paused', 'pause');
  await aSecondLater();
  const operation = await TestOperation.make(fleet().kube, namespace, { vms: { names: ['paused'] } });
  const restart = fleet().temporal.client.workflow.getHandle(operation.workflowId);
  const skipped = [{ message: 'it is paused by a user' }];
  await until(async () => expect(await restart.query(operationProgress)).toMatchObject({ skipped }));

  await fleet().createPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
  expect(await transition.progress()).toMatchObject({ phase: 'Waiting' });
  expect(await restart.query(operationProgress)).toMatchObject({ phase: 'Restarting', open: 1 });
});
