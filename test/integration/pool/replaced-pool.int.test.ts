import { expect, test } from 'vitest';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { aFleet, until } from '../fleet.ts';
import { badTemplate, templateOf, TestPool } from '../rollout/rollouts.ts';

const fleet = aFleet();

test('a pool that replaces another, whose deletion no worker has seen, begins with nothing of it', async () => {
  const worker = await fleet().worker();
  const old = await TestPool.ready(fleet(), { replicas: 2, rollout: { progressDeadlineSeconds: 2 }, autohealing: {} });
  await old.change(badTemplate(2));
  await old.untilSaid({ Progressing: 'Failed' });
  await old.request('pause', { reason: 'incident 42' });
  await old.heal({ action: 'pause' });
  await old.untilSaid({ Paused: 'PausedByUser', HealingSuspended: 'PausedByUser' });
  const { runId } = await old.workflow.describe();
  await worker.kill();

  const { namespace } = old;
  const key = { namespace, name: 'web' };
  await fleet().kube.patch(VirtualMachinePools, key, 'merge', { metadata: { finalizers: null } });
  await fleet().kube.delete(VirtualMachinePools, key);
  await until(async () => expect(await fleet().pool(namespace, 'web')).toBeUndefined());
  await fleet().createPool(namespace, 'web', { replicas: 2, template: templateOf(), autohealing: {} });
  await fleet().startWorker();
  const second = TestPool.of(fleet(), namespace);
  await second.untilComplete(revisionOf(templateOf()));
  const { rollout, healing } = await second.status();
  expect(rollout).toMatchObject({ batches: 0, failures: [] });
  expect(rollout).not.toHaveProperty('paused');
  expect(rollout).not.toHaveProperty('halted');
  expect(healing).toEqual({ cycles: [], finished: [] });
  // The same run had served the old pool.
  expect((await second.workflow.describe()).runId).toBe(runId);
});
