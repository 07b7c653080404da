import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { CLAIM_NAME } from '../../api/claim.ts';
import { apiVersionOf, Leases, pathOf, VirtualMachines, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { refuseLeft } from '../../workers/refuse-left.ts';
import { waitUntilWatched } from '../../workers/watch/keep-watch.ts';

test('a worker of the cluster writes nothing in a namespace that is left, whatever it was doing', () => {
  const cache = { isLeft: (namespace: string) => namespace === 'shop' };
  const write = (namespace: string, subresource?: string) => () =>
    refuseLeft(cache, pathOf(VirtualMachines, namespace, 'web-1', subresource));
  expect(write('shop')).toThrow('namespace shop is left to drover workers of its own');
  expect(write('shop', 'status')).toThrow('namespace shop is left');
  expect(() => refuseLeft(cache, `/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachines/a/stop`)).toThrow();
  expect(write('bank')).not.toThrow();
  expect(() => refuseLeft(cache, `/apis/${apiVersionOf(VirtualMachines)}/namespaces`)).not.toThrow();
});

/** An API server in which namespace `shop` is claimed for this holder, if for any. */
function watchFor(holder: { of: string | undefined }) {
  const warned: string[] = [];
  const get = (resource: Resource, { name }: { name: string }) => {
    if (resource !== Leases) return Promise.resolve({ metadata: { uid: 'uid-of-shop' } });
    expect(name).toBe(CLAIM_NAME);
    if (holder.of === undefined) return Promise.reject(new KubeError(404, 'NotFound', 'none'));
    return Promise.resolve({ metadata: {}, spec: { holderIdentity: holder.of } });
  };
  const memo = { clusterUid: 'uid-of-shop', namespace: 'shop' };
  const describe = () => Promise.resolve({ status: { name: 'RUNNING' }, memo });
  const warn = (_message: string, { error = '' }: { error?: string } = {}): void => void warned.push(error);
  const options = {
    client: { workflow: { getHandle: () => ({ describe }) } } as unknown as Client,
    kube: { get } as unknown as KubeClient,
    cluster: 'shop',
    namespace: 'shop',
    logger: { info: () => {}, warn },
    stop: new AbortController().signal,
  };
  return { options, warned };
}

test.each([
  [undefined, 'namespace shop is not claimed'],
  ['another', 'namespace shop is claimed for another'],
])('a worker of a namespace waits while that is claimed for %s, and says so', async (of, why) => {
  const holder: { of: string | undefined } = { of };
  const { options, warned } = watchFor(holder);
  const watched = waitUntilWatched(options);
  await expect.poll(() => warned).toContainEqual(expect.stringContaining(why));
  holder.of = 'shop';
  expect(await watched).toBe('uid-of-shop');
});

test('a worker ends once its namespace is given back, or to others', async () => {
  const holder: { of: string | undefined } = { of: 'shop' };
  const { options } = watchFor(holder);
  expect(await waitUntilWatched(options, 'uid-of-shop')).toBe('uid-of-shop');
  holder.of = undefined;
  await expect(waitUntilWatched(options, 'uid-of-shop')).rejects.toThrow('is not claimed');
});
