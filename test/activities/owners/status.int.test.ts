import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { PoolKey } from '../../../activities/owners/owner-key.ts';
import { writeOwnerStatus, type StatusWrite } from '../../../activities/owners/status.ts';
import type { DisruptedVm, PoolStatus } from '../../../api/pool/pool.ts';
import { CoreEvents, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import type { ResourceVersions } from '../../../decisions/lib/resource-versions.ts';
import type { OwnerEvent } from '../../../decisions/owners/events.ts';
import type { Fate } from '../../integration/chaos-proxy.ts';
import { aFleet } from '../../integration/fleet.ts';
import { aWorkerCache } from '../cache/worker-cache.ts';
import { haltedVm } from '../members/halted-vm.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

const noWatch = (_method: string, path: string): Fate => (path.includes('watch=true') ? 'hang' : 'pass');
/** The status of a pool that nobody has written, by the defaults of its definition. */
const UNWRITTEN = { observedGeneration: 0, replicas: 0 };
const claim: DisruptedVm = { vm: 'web-1', by: 'power/default/one', at: '2026-01-01T00:00:00Z' };

/** A pool with a status written by drover, and a worker that has seen both and has been suspended since. */
async function suspended(): Promise<{
  key: PoolKey;
  goOn: (status: PoolStatus, events?: OwnerEvent[], minVersions?: ResourceVersions) => Promise<StatusWrite>;
}> {
  const namespace = await cluster().namespace();
  const { metadata } = await cluster().createPool(namespace, 'web');
  const key = { namespace, name: 'web', uid: metadata.uid };
  await write(key, { replicas: 1, readyReplicas: 1, writes: 1 });
  const workerCache = await aWorkerCache(cluster().stack.kubeconfig, noWatch);
  await workerCache.cache.start();
  const { client, cache } = workerCache;
  return {
    key,
    goOn: async (status, events, minVersions = {}) => {
      await cache.catchUp(minVersions);
      const seen = cache.pools.get(`${namespace}/web`)!;
      return new MockActivityEnvironment().run<[], StatusWrite, () => Promise<StatusWrite>>(() =>
        writeOwnerStatus({ client, cache }, { key, seen, status: { observedGeneration: 1, ...status }, events }),
      );
    },
  };
}

/** Writes to the status, as another worker does, or a workflow that disrupts VMs. */
const write = (key: PoolKey, status: PoolStatus | Pick<PoolStatus, 'disruptedVMs'>) =>
  cluster().kube.patch(VirtualMachinePools, key, 'merge', { status }, { subresource: 'status' });
const statusOf = async ({ namespace, name }: PoolKey) => (await cluster().pool(namespace, name))!.status;

test('a stale status write is dropped if another worker has written the status since', async () => {
  const { key, goOn } = await suspended();
  const newer = await write(key, { replicas: 3, readyReplicas: 3, writes: 2 });
  expect(await goOn({ replicas: 2, writes: 2, turn: 'run/1' })).toEqual({
    isLate: true,
    minVersions: { pools: newer.metadata.resourceVersion },
  });
  expect(await statusOf(key)).toEqual({ ...UNWRITTEN, replicas: 3, readyReplicas: 3, writes: 2 });
});

test('an Event about a new status is recorded once, also if the answer to the write is lost', async () => {
  const { key, goOn } = await suspended();
  const event = { type: 'Normal', reason: 'SuccessfulPaused', action: 'Pause', note: 'Paused' } as const;
  // The first write succeeds, and its worker, of which the cache has stopped, does not know.
  for (const outcome of [{ isWritten: true }, { isLate: true }])
    expect(await goOn({ replicas: 2, writes: 2, turn: 'run/1' }, [event])).toMatchObject(outcome);
  const { items } = await cluster().kube.list(CoreEvents, { namespace: key.namespace });
  expect(items).toMatchObject([{ reason: 'SuccessfulPaused', message: 'Paused', involvedObject: { uid: key.uid } }]);
});

test('a status is written beside claims that the worker has not heard of, and leaves them', async () => {
  const { key, goOn } = await suspended();
  await write(key, { disruptedVMs: [claim] });
  expect(await goOn({ replicas: 2, writes: 2 })).not.toHaveProperty('isLate');
  expect(await statusOf(key)).toEqual({ observedGeneration: 1, replicas: 2, writes: 2, disruptedVMs: [claim] });
});

test('spent claims are dropped by what the plan has seen, although the cache of the writing worker is behind', async () => {
  const { key, goOn } = await suspended();
  const { metadata } = await cluster().kube.create(VirtualMachines, haltedVm(key, 'web-1'));
  const pool = await write(key, { disruptedVMs: [claim] });
  const seen = { pools: pool.metadata.resourceVersion, vms: metadata.resourceVersion };
  await goOn({ replicas: 1, writes: 2 }, [], seen);
  expect(await statusOf(key)).toEqual({ observedGeneration: 1, replicas: 1, writes: 2 });
});

test('a status that is written late does not reach a pool that was recreated under the name', async () => {
  const { key, goOn } = await suspended();
  await cluster().kube.delete(VirtualMachinePools, key);
  await cluster().createPool(key.namespace, key.name);
  expect(await goOn({ replicas: 2, writes: 2 })).toEqual({});
  expect(await statusOf(key)).toEqual(UNWRITTEN);
});

test('a status of an earlier spec is not written', async () => {
  const { key, goOn } = await suspended();
  await cluster().patchPool(key.namespace, key.name, { replicas: 2 });
  expect(await goOn({ replicas: 2, writes: 2 })).toMatchObject({ isLate: true });
  expect(await statusOf(key)).toMatchObject({ replicas: 1, writes: 1 });
});
