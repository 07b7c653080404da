import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { controllerOf } from '../../../api/objects.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { poolIdOf, progress } from '../../../workflows/lib/messages.ts';
import { soak, testOneOf } from '../../soak.ts';
import { startChaosProxy, type Fate, type FateOf } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until, type TestWorker } from '../fleet.ts';

const fleet = aFleet({ simulator: false, workers: 0 });
const VMS = soak(200, 40);

const pass: FateOf = () => 'pass';
/** A slow API server, so that what a test does comes in the middle even on a fast machine. */
const slow = async (method: string): Promise<Fate> => {
  if (method === 'POST') await sleep(400);
  return 'pass';
};
/** What happens to the calls of workers, until the end of the test. */
let fate = pass;
let kubeconfig: string;
/** The worker that the test before has left, if any: a start takes two seconds of CPU. */
let left: TestWorker | undefined;

beforeAll(async () => {
  const proxy = await startChaosProxy(fleet().workerKubeconfig, (method, path) => fate(method, path));
  ({ kubeconfig } = proxy);
  return proxy.close;
});
afterEach(() => {
  fate = pass;
});

const startWorker = (): Promise<TestWorker> => fleet().startWorker({ KUBECONFIG: kubeconfig });
const worker = async (): Promise<TestWorker> => (left ??= await startWorker());

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

test('VMs that were to leave while no call succeeded stay if the pool wants them again by then', async () => {
  const namespace = await fleet().namespace();
  let refused = 0;
  fate = (method, path) => {
    if (method !== 'DELETE' || !path.includes(`/${namespace}/virtualmachines/`)) return 'pass';
    refused++;
    return { status: 503, retryAfter: 1 };
  };
  const cutOff = await worker();
  await fleet().createPool(namespace, 'web', { replicas: 6 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 6));
  const before = (await fleet().vms(namespace)).map((vm) => vm.metadata.uid).sort();
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await until(async () => expect(refused).toBeGreaterThan(0));
  // The next worker takes over the activity when it times out on this worker.
  await cutOff.kill();
  await fleet().patchPool(namespace, 'web', { replicas: 6 });
  fate = pass;
  left = await startWorker();
  const workflow = fleet().temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }));
  await until(async () => expect(await workflow.query(progress)).toMatchObject({ deleting: [] }));
  await fleet().settled(namespace, 'web', namesUpTo('web', 6));
  expect((await fleet().vms(namespace)).map((vm) => vm.metadata.uid).sort()).toEqual(before);
});

testOneOf({
  'a pool has exactly as many VMs as wanted, under their own names, after a worker dies in the middle of a burst':
    async () => {
      const namespace = await fleet().namespace();
      const creations = await everyCreation(namespace);
      fate = slow;
      await worker();
      await fleet().createPool(namespace, 'web', { replicas: VMS });
      for (const moment of soak([5, 40, 90], [10])) {
        await until(async () => expect(creations.count()).toBeGreaterThan(moment));
        await left!.kill();
        expect(creations.count()).toBeLessThan(VMS);
        left = await startWorker();
      }
      await expectExactly(namespace, VMS, creations.uids);
      creations.stop();
    },
  'nothing is lost or done twice if one of two workers dies, whichever watches': async () => {
    const namespace = await fleet().namespace();
    const creations = await everyCreation(namespace);
    fate = slow;
    const [first, second] = await Promise.all([worker(), startWorker()]);
    await fleet().createPool(namespace, 'web', { replicas: VMS });
    await until(async () => expect(creations.count()).toBeGreaterThan(VMS / 4));
    await first.kill();
    await expectExactly(namespace, VMS, creations.uids);
    left = await startWorker();
    await second.kill();
    // The worker that takes over must find what happened while none watched.
    await fleet().patchPool(namespace, 'web', { replicas: VMS + 10 });
    await expectExactly(namespace, VMS + 10, creations.uids);
    creations.stop();
  },
});

test('a worker that is asked to end finishes what it has begun, says so, and leaves the rest to the next', async () => {
  const namespace = await fleet().namespace();
  const creations = await everyCreation(namespace);
  fate = slow;
  const first = await worker();
  await fleet().createPool(namespace, 'web', { replicas: VMS });
  await until(async () => expect(creations.count()).toBeGreaterThan(VMS / 6));
  expect(await first.stop()).toBe(0);
  left = await startWorker();
  await expectExactly(namespace, VMS, creations.uids);
  creations.stop();
  expect(await left.stop()).toBe(0);
});
