import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';

const fleet = aFleet({ workers: 0 });

const isVm = (path: string) => /\/virtualmachines\/(web-\d+)/.exec(path);

test('a worker that is suspended in the middle of a scale-in deletes no VM that is wanted again as it continues', async () => {
  const namespace = await fleet().namespace();
  let worker: { pid: number } | undefined;
  let isScalingIn = false;
  const proxy = await chaosProxy(fleet().workerKubeconfig, async (method, path): Promise<Fate> => {
    if (!isScalingIn || method !== 'DELETE' || isVm(path) === null) return 'pass';
    isScalingIn = false;
    // The others have their answers, and wait for a connection.
    process.kill(worker!.pid, 'SIGSTOP');
    return 'pass';
  });
  worker = await fleet().startWorker({
    KUBECONFIG: proxy.kubeconfig,
    DROVER_CONCURRENCY: '30',
    DROVER_CONNECTIONS: '8',
  });
  await fleet().createPool(namespace, 'web', { replicas: 40 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 40));
  const vms = async () =>
    (await fleet().vms(namespace)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  isScalingIn = true;
  await fleet().patchPool(namespace, 'web', { replicas: 10 });
  await until(async () => expect(isScalingIn).toBe(false));
  // What was sent before, of which only a part may have arrived, is carried out.
  const sent = new Set(proxy.calls.filter((call) => call.startsWith('DELETE')).map((call) => isVm(call)?.[1]));
  const left = (await vms()).filter(({ metadata }) => !sent.has(metadata.name)).map(({ metadata }) => metadata.uid);
  expect(left.length).toBeGreaterThan(10);
  await fleet().patchPool(namespace, 'web', { replicas: 40 });
  await sleep(1_500);
  process.kill(worker.pid, 'SIGCONT');
  await fleet().settled(namespace, 'web', namesUpTo('web', 40));
  const after = new Set((await vms()).map(({ metadata }) => metadata.uid));
  expect(left.filter((uid) => !after.has(uid))).toEqual([]);
});
