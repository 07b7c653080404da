import { expect, test } from 'vitest';
import { chaosProxy } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';

const fleet = aFleet({ simulator: false, workers: 0 });

test('a lasting fault, such as a webhook that is down, is reported in the status, and the pool continues when it passes', async () => {
  const namespace = await fleet().namespace();
  let broken = true;
  const proxy = await chaosProxy(fleet().workerKubeconfig, (method, path) =>
    broken && method === 'POST' && path.includes('/virtualmachines') ? { status: 500 } : 'pass',
  );
  const worker = await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
  await fleet().createPool(namespace, 'web', { replicas: 3 });
  await until(async () =>
    expect(await fleet().condition(namespace, 'web', 'ReplicaFailure')).toMatchObject({
      status: 'True',
      reason: 'FailedCreate',
      message: 'the test answers 500',
    }),
  );
  broken = false;
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
  await until(async () => {
    expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ replicas: 3 });
    expect(await fleet().condition(namespace, 'web', 'ReplicaFailure')).toBeUndefined();
  });
  await worker.stop();
});
