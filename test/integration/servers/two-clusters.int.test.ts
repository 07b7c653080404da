import { expect, onTestFinished, test } from 'vitest';
import { setup } from '../../../clients/setup/setup.ts';
import { servedUidOf } from '../../../kubernetes/served.ts';
import { watchIdOf } from '../../../workflows/lib/messages.ts';
import { aFleet, until } from '../fleet.ts';

/** Two clusters with the same name; both use the first one's Temporal. */
const first = aFleet({ simulator: false, workers: 0 });
const second = aFleet({ simulator: false, workers: 0 });

const watch = () => first().temporal.client.workflow.getHandle(watchIdOf('default'));
const setUp = (of: typeof first): Promise<void> =>
  setup({ kube: of().kube, temporal: first().temporal, cluster: 'default', say: () => {} });
const startWorkerOf = (of: typeof first) => first().startWorker({ KUBECONFIG: of().workerKubeconfig });

test('the second cluster of a name is refused by its worker and by setup', async () => {
  const told = new RegExp(
    String.raw`can't be called "default": workflow watch/default watches the cluster .* ${await servedUidOf(first().kube, undefined)}`,
  );
  await expect(startWorkerOf(second)).rejects.toThrow(told);
  await expect(setUp(second)).rejects.toThrow(told);
});

test('a watch that is terminated is started again by a worker, which ends when another cluster has taken its name', async () => {
  const worker = await startWorkerOf(first);
  onTestFinished(() => worker.kill());
  const before = await watch().describe();
  await watch().terminate('a test');
  await until(async () => {
    const now = await watch().describe();
    expect(now).toMatchObject({
      status: { name: 'RUNNING' },
      memo: { clusterUid: await servedUidOf(first().kube, undefined) },
    });
    expect(now.runId).not.toBe(before.runId);
  });
  await watch().terminate('a test');
  await setUp(second);
  await until(async () => expect(() => process.kill(worker.pid, 0)).toThrow('ESRCH'));
  expect(await worker.stop()).toBe(1);
});
