import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { CLAIM_NAME, claimOf } from '../../api/claims/claim.ts';
import { apiVersionOf, Leases, pathOf, VirtualMachines, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { refuseDelegated } from '../../workers/refuse-delegated.ts';
import { isRefusal, waitUntilWatched } from '../../workers/watch/keep-watch.ts';

test('a worker of the cluster writes nothing in a namespace that is left, whatever it was doing', () => {
  const cache = { isDelegated: (namespace: string) => namespace === 'shop' };
  const write = (namespace: string, subresource?: string) => () =>
    refuseDelegated(cache, pathOf(VirtualMachines, namespace, 'web-1', subresource));
  expect(write('shop')).toThrow('namespace shop is left to its own drover workers');
  expect(write('shop', 'status')).toThrow('namespace shop is left');
  expect(() =>
    refuseDelegated(cache, `/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachines/a/stop`),
  ).toThrow();
  expect(write('bank')).not.toThrow();
  expect(() => refuseDelegated(cache, `/apis/${apiVersionOf(VirtualMachines)}/namespaces`)).not.toThrow();
});

const NAME = 'default.shop';

/** Namespace `shop`: its UID, if it is there, whom it is left to, if to anybody, and the UID that is watched. */
interface Shop {
  uid?: string | undefined;
  of?: string | undefined;
  watched?: string | undefined;
}

const notFound = () => Promise.reject(new KubeError(404, 'NotFound', 'none'));

function watchFor(shop: Shop) {
  const warned: string[] = [];
  const get = (resource: Resource, { name }: { name: string }) => {
    if (resource !== Leases) return shop.uid === undefined ? notFound() : Promise.resolve({ metadata: shop });
    expect(name).toBe(CLAIM_NAME);
    return shop.of === undefined ? notFound() : Promise.resolve(claimOf('shop', shop.of));
  };
  const describe = () =>
    Promise.resolve({
      status: { name: shop.watched === undefined ? 'TERMINATED' : 'RUNNING' },
      memo: { clusterUid: shop.watched, namespace: 'shop' },
    });
  const workflow = {
    getHandle: () => ({ describe, terminate: () => Promise.resolve(void (shop.watched = undefined)) }),
    start: (_type: string, { memo }: { memo: { clusterUid: string } }) =>
      Promise.resolve(void (shop.watched = memo.clusterUid)),
  };
  const warn = (_message: string, { error = '' }: { error?: string } = {}): void => void warned.push(error);
  const options = {
    client: { workflow } as unknown as Client,
    kube: { get } as unknown as KubeClient,
    cluster: NAME,
    namespace: 'shop',
    logger: { info: () => {}, warn },
    stop: new AbortController().signal,
  };
  return { options, warned };
}

const served = { uid: 'first', of: NAME, watched: 'first' };

test.each([
  ['is not there yet', { uid: undefined }, 'there is no namespace shop, or no Role for this worker in it: none'],
  ['is left to nobody', { of: undefined }, '`drover setup --only-namespace shop` leaves it to them'],
  ['is left to others', { of: 'bank' }, 'namespace shop is left to the workers bank by its Lease drover'],
  ['is watched for another cluster', { watched: 'other' }, 'watches namespace shop with the UID other alone'],
])('a namespace that %s is waited for, and the log says why', async (_is, missing: Shop, why) => {
  const shop: Shop = { ...served, ...missing };
  const { options, warned } = watchFor(shop);
  const watched = waitUntilWatched(options);
  await expect.poll(() => warned).toContainEqual(expect.stringContaining(why));
  Object.assign(shop, served);
  expect(await watched).toBe('first');
});

test.each([
  ['is deleted', { uid: undefined }, 'there is no namespace shop'],
  ['is deleted and made again', { uid: 'second' }, 'namespace shop was deleted, and another one of its name was made'],
  ['is given back', { of: undefined }, 'namespace shop is not left to its own workers'],
  ['is given to others', { of: 'bank' }, 'namespace shop is left to the workers bank'],
  ['is watched for another cluster', { watched: 'other' }, "can't be called"],
])('a namespace that %s is no longer served', async (_is, now: Shop, why) => {
  const { options } = watchFor({ ...served, ...now });
  const kept = waitUntilWatched(options, { serving: 'first' });
  await expect(kept).rejects.toSatisfy(isRefusal);
  await expect(kept).rejects.toThrow(why);
});

test('the watch of a namespace that was made again is ended by who saw the one before, for a claim to begin another', async () => {
  const shop: Shop = { ...served, uid: 'second', of: undefined };
  const watched = waitUntilWatched(watchFor(shop).options, { replaced: 'first' });
  await expect.poll(() => shop.watched).toBeUndefined();
  shop.of = NAME;
  expect(await watched).toBe('second');
  expect(shop.watched).toBe('second');
});
