import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { controllerOf } from '../../../api/objects.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { soak } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until, type TestWorker } from '../fleet.ts';

const fleet = aFleet({ simulator: false, workers: 0 });
const VMS = soak(200, 60);

/** Records every VM that is ever created, so that a double creation can't hide. */
async function everyCreation(
  namespace: string,
): Promise<{ uids: Map<string, Set<string>>; count: () => number; stop: () => void }> {
  const uids = new Map<string, Set<string>>();
  const abort = new AbortController();
  const { kube } = fleet();
  const { metadata } = await kube.list(VirtualMachines, { namespace });
  const follow = async (): Promise<void> => {
    for await (const event of kube.watch(VirtualMachines, {
      namespace,
      query: { resourceVersion: metadata.resourceVersion },
      signal: abort.signal,
    })) {
      if (event.type !== 'ADDED') continue;
      const { name, uid } = event.object.metadata;
      uids.set(name, (uids.get(name) ?? new Set()).add(uid));
    }
  };
  const following = follow().catch((error: unknown) => {
    if (!abort.signal.aborted) throw error;
  });
  return { uids, count: () => uids.size, stop: () => (abort.abort(), void following) };
}

async function expectExactly(namespace: string, count: number, seen: Map<string, Set<string>>): Promise<void> {
  await fleet().settled(namespace, 'web', namesUpTo('web', count));
  await until(async () => expect(seen.size).toBe(count));
  expect([...seen.keys()].filter((name) => seen.get(name)!.size > 1)).toEqual([]);
  const pool = (await fleet().pool(namespace, 'web'))!;
  for (const vm of await fleet().vms(namespace)) expect(controllerOf(vm)?.uid).toBe(pool.metadata.uid);
}

test('a worker that dies in the middle of a burst: exactly as many as wanted, no name twice, none missing', async () => {
  const namespace = await fleet().namespace();
  const creations = await everyCreation(namespace);
  // A slow API server, so that each kill comes in the middle even on a fast machine.
  const slow = await chaosProxy(fleet().workerKubeconfig, async (method): Promise<Fate> => {
    if (method === 'POST') await sleep(400);
    return 'pass';
  });
  const env = { KUBECONFIG: slow.kubeconfig };
  let worker: TestWorker = await fleet().startWorker(env);
  await fleet().createPool(namespace, 'web', { replicas: VMS });
  for (const moment of soak([5, 40, 90], [5, 25])) {
    await until(async () => expect(creations.count()).toBeGreaterThan(moment));
    await worker.kill();
    expect(creations.count()).toBeLessThan(VMS);
    worker = await fleet().startWorker(env);
  }
  await expectExactly(namespace, VMS, creations.uids);
  creations.stop();
  await worker.stop();
});

test('two workers at once, and one of them dies, whichever watches: nothing is lost or done twice', async () => {
  const namespace = await fleet().namespace();
  const creations = await everyCreation(namespace);
  const [first, second] = await Promise.all([fleet().startWorker(), fleet().startWorker()]);
  await fleet().createPool(namespace, 'web', { replicas: 120 });
  await until(async () => expect(creations.count()).toBeGreaterThan(40));
  await first.kill();
  await expectExactly(namespace, 120, creations.uids);
  const third = await fleet().startWorker();
  await second.kill();
  // The worker that takes over must find what happened while none watched.
  await fleet().patchPool(namespace, 'web', { replicas: 130 });
  await expectExactly(namespace, 130, creations.uids);
  creations.stop();
  await third.stop();
});

test('a worker that is asked to end finishes what it has begun, says so, and leaves the rest to the next', async () => {
  const namespace = await fleet().namespace();
  const creations = await everyCreation(namespace);
  const first = await fleet().startWorker();
  await fleet().createPool(namespace, 'web', { replicas: 150 });
  await until(async () => expect(creations.count()).toBeGreaterThan(20));
  expect(await first.stop()).toBe(0);
  const second = await fleet().startWorker();
  await expectExactly(namespace, 150, creations.uids);
  creations.stop();
  await second.stop();
});
