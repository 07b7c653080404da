import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { poolIdOf } from '../../../workflows/messages.ts';
import { soak } from '../../soak.ts';
import { startChaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until, type TestWorker } from '../fleet.ts';

const fleet = aFleet({ ownStack: true, simulator: false, workers: 0 });
const VMS = soak(300, 40);
/** It makes one VM after another, at a slow API server: a kill comes in the middle, even on a fast machine. */
let worker: TestWorker;
beforeAll(async () => {
  const { kubeconfig, close } = await startChaosProxy(fleet().workerKubeconfig, async (method): Promise<Fate> => {
    if (method === 'POST') await sleep(60);
    return 'pass';
  });
  worker = await fleet().startWorker({ KUBECONFIG: kubeconfig, DROVER_CONCURRENCY: '1' });
  return close;
});

const growing = async (namespace: string, replicas: number, from: number): Promise<void> => {
  await fleet().createPool(namespace, 'web', { replicas });
  let there = 0;
  await until(async () => expect((there = (await fleet().vms(namespace)).length)).toBeGreaterThan(from));
  expect(there).toBeLessThan(replicas);
};

test('Temporal is killed in the middle of a burst, and comes back: the pool goes on where it was', async () => {
  const namespace = await fleet().namespace();
  await growing(namespace, VMS, VMS / 4);
  fleet().stack.kill('temporal', 'SIGKILL');
  await fleet().stack.restart('temporal');
  await fleet().settled(namespace, 'web', namesUpTo('web', VMS));
});

test('the API server is killed in the middle of a burst and restarted: every VM is created exactly once', async () => {
  const namespace = await fleet().namespace();
  await growing(namespace, VMS, VMS / 4);
  fleet().stack.kill('kube-apiserver', 'SIGKILL');
  await fleet().stack.restart('kube-apiserver');
  await fleet().settled(namespace, 'web', namesUpTo('web', VMS));
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(3));
});

// The last test: it ends the worker.
test('Temporal is away for longer than a signal is tried: the same worker goes on when it is back, with what changed meanwhile', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-2']);
  const workflow = fleet().temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }));
  const last = { length: -1, at: 0 };
  await until(async () => {
    const { historyLength: length } = await workflow.describe();
    if (length !== last.length) Object.assign(last, { length, at: Date.now() });
    // Longer than the interval between signals: the watch of the API server sends the next one at once.
    expect(Date.now() - last.at).toBeGreaterThan(1_500);
  });

  await fleet().stack.halt('temporal');
  await fleet().patchPool(namespace, 'web', { replicas: 4 });
  const log = join(fleet().stack.state, 'logs', `test-worker-${worker.pid}.log`);
  await until(async () => expect(readFileSync(log, 'utf8')).toContain('a pool could not be signalled'));
  await fleet().stack.restart('temporal');
  await fleet().settled(namespace, 'web', ['web-1', 'web-2', 'web-3', 'web-4']);
  expect(await worker.stop()).toBe(0);
});
