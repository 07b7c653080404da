import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import type { Stored } from '../../../api/objects.ts';
import { KubeVirts, VirtualMachines, type Resource } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';

const vm = (namespace: string, name: string, resourceVersion: string): Stored => ({
  metadata: { namespace, name, uid: `${namespace}/${name}`, resourceVersion, creationTimestamp: '' },
});

const takes = (namespace: string): boolean => namespace === 'shop';

/** Lists a VM in each of two namespaces, and tells of the changes that are given to it. */
class Server {
  lists = 0;
  readonly #events: object[] = [];
  #news = Promise.withResolvers<void>();

  tell(type: string, object: Stored): void {
    this.#events.push({ type, object });
    this.#news.resolve();
  }

  async *pages() {
    this.lists++;
    yield { metadata: { resourceVersion: '10' }, items: [vm('shop', 'a', '1'), vm('bank', 'a', '2')] };
  }

  async *watch(_resource: unknown, { signal }: { signal: AbortSignal }) {
    const aborted = once(signal, 'abort').catch(() => {});
    while (!signal.aborted) {
      yield* this.#events.splice(0);
      this.#news = Promise.withResolvers();
      await Promise.race([this.#news.promise, aborted]);
    }
  }
}

async function ofShop() {
  const server = new Server();
  const seen: string[] = [];
  const list = new ListWatch({
    client: server as unknown as KubeClient,
    resource: VirtualMachines,
    keeps: takes,
    view: ({ metadata }) => {
      seen.push(metadata.namespace!);
      return metadata.resourceVersion;
    },
    onWatchEvent: (_type, { metadata }) => seen.push(`event of ${metadata.namespace}`),
    onChange: (key) => seen.push(`change of ${key}`),
    onMissed: (count) => seen.push(`missed ${count}`),
  }).start();
  onTestFinished(() => list.stop());
  await list.ready();
  return { server, list, seen };
}

test('objects of other namespaces are neither viewed nor kept, as they are listed and as they change', async () => {
  const { server, list, seen } = await ofShop();
  server.tell('ADDED', vm('bank', 'b', '11'));
  server.tell('DELETED', vm('bank', 'a', '12'));
  server.tell('MODIFIED', vm('shop', 'a', '13'));
  expect(await list.reached(13n, 1_000)).toBe(true);
  expect(Object.fromEntries([...list.keys()].map((key) => [key, list.get(key)]))).toEqual({ 'shop/a': '13' });
  await expect.poll(() => seen).toContain('event of shop');
  expect(seen.filter((one) => one.includes('bank'))).toEqual([]);
  await list.relist();
  expect(seen.filter((one) => one.includes('bank') || one.startsWith('missed'))).toEqual([]);
});

test('an event of another namespace moves the version, and wakes who waits for it without a list', async () => {
  const { server, list } = await ofShop();
  const caughtUp = list.catchUp(20n, 60_000);
  server.tell('MODIFIED', vm('bank', 'a', '20'));
  await caughtUp;
  expect({ version: list.version, lists: server.lists }).toEqual({ version: 20n, lists: 1 });
});

/** Lists a VM in each of two namespaces, and KubeVirt's own object in a third. */
class Cluster {
  async *pages(resource: Resource) {
    const vms = ['shop', 'bank'].map((namespace) => ({ ...vm(namespace, 'a', '1'), spec: { template: { spec: {} } } }));
    const kubevirt = { ...vm('kubevirt', 'kubevirt', '1'), spec: { configuration: { vmRolloutStrategy: 'Stage' } } };
    const items =
      new Map<Resource, Stored[]>([
        [VirtualMachines, vms],
        [KubeVirts, [kubevirt]],
      ]).get(resource) ?? [];
    yield { metadata: { resourceVersion: '10' }, items };
  }

  async *watch(_resource: unknown, { signal }: { signal: AbortSignal }) {
    if (!signal.aborted) await once(signal, 'abort');
    yield* [];
  }

  request = () => Promise.resolve({ metadata: { resourceVersion: '10' } });
}

test.each([
  ['of its shards', false, ['shop/a']],
  ['of all, once it must count them', true, ['shop/a', 'bank/a']],
])(
  'a worker that takes one namespace keeps VMs %s, acts in no other, and knows KubeVirt',
  async (_of, keepsAll, kept) => {
    const client = new Cluster() as unknown as KubeClient;
    const cache = new ClusterCache({ client, takes, keeps: keepsAll ? undefined : takes });
    onTestFinished(() => cache.stop());
    await cache.start();
    expect([...cache.vms.keys()]).toEqual(kept);
    expect(['shop', 'bank'].map((namespace) => cache.isDelegated(namespace))).toEqual([false, true]);
    expect({ isPartial: cache.isPartial, strategy: cache.rolloutStrategy() }).toEqual({
      isPartial: !keepsAll,
      strategy: 'Stage',
    });
  },
);
