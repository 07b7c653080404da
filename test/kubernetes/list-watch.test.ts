import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test, vi } from 'vitest';
import { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch, type ListWatchOptions } from '../../kubernetes/list-watch.ts';
import type { KubeObject } from '../../kubernetes/objects.ts';
import { VirtualMachines } from '../../kubernetes/resources.ts';

type Options = Pick<ListWatchOptions<KubeObject, string>, 'onChange'>;

/** A list-watch on a server that answers every list with `list`, and ends every watch right after what `onWatch` returns. */
async function onServer(
  list: (query: URLSearchParams) => object,
  onWatch: () => string | void = () => {},
  options: Options = {},
): Promise<ListWatch<KubeObject, string>> {
  const server = createServer((request, response) => {
    const isWatch = request.url!.includes('watch=true');
    const events = isWatch ? (onWatch() ?? '') : '';
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(isWatch ? events : JSON.stringify(list(new URL(request.url!, 'http://it').searchParams)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = new KubeConfig();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: 'it', server: address, skipTLSVerify: true }, { name: 'it' });
  const client = new KubeClient(config);
  const listWatch = new ListWatch<KubeObject, string>({ client, resource: VirtualMachines, view: (vm) => vm.metadata.uid, ...options }).start();
  onTestFinished(async () => {
    await listWatch.stop();
    await client.close();
    server.close();
  });
  return listWatch;
}

test('a server that ends every watch as soon as it begins is asked ever more seldom', async () => {
  const watches: number[] = [];
  await onServer(
    () => ({ metadata: { resourceVersion: '1' }, items: [] }),
    () => void watches.push(Date.now()),
  );
  await vi.waitFor(() => expect(watches.length).toBeGreaterThanOrEqual(4), { timeout: 10_000 });
  // 250 ms, 500 ms and 1 s, each a quarter more or less.
  expect(watches[3]! - watches[0]!).toBeGreaterThan(1_200);
});

const vm = (name: string, resourceVersion: string) => ({
  metadata: { namespace: 'shop', name, uid: `${name}@${resourceVersion}`, resourceVersion },
});

test('a cluster that was restored from a backup, and counts from an older version, is followed from there', async () => {
  let list = { metadata: { resourceVersion: '900' }, items: [vm('web-1', '700'), vm('web-2', '800')] };
  const listWatch = await onServer(() => list);
  await listWatch.ready();
  list = { metadata: { resourceVersion: '500' }, items: [vm('web-1', '400')] };
  await listWatch.relist();
  expect([...listWatch.values()]).toEqual(['web-1@400']);
  expect(listWatch.version).toBe(500n);
});

test('all who ask for a list while one is under way share the next', async () => {
  let lists = 0;
  const listWatch = await onServer(() => ({ metadata: { resourceVersion: String(++lists) }, items: [] }));
  await listWatch.ready();
  const before = lists;
  const first = listWatch.relist();
  await Promise.resolve();
  await Promise.all([first, ...Array.from({ length: 20 }, () => listWatch.relist())]);
  expect(lists - before).toBeLessThanOrEqual(2);
});

test('a list is taken in page by page: none waits, with all that it holds, for those that follow', async () => {
  const sizes: number[] = [];
  const listWatch: ListWatch<KubeObject, string> = await onServer((query) => {
    const page = Number(query.get('continue') ?? 0);
    if (page > 0 && sizes.length < 2) sizes.push(listWatch.size);
    return { metadata: { resourceVersion: '9', ...(page < 2 ? { continue: String(page + 1) } : {}) }, items: [vm(`web-${page}`, '5')] };
  });
  await listWatch.ready();
  expect(sizes).toEqual([1, 2]);
  expect(listWatch.size).toBe(3);
});

test('who is told of a change finds the cache at the version of that change', async () => {
  const told: bigint[] = [];
  const events = [`${JSON.stringify({ type: 'ADDED', object: vm('web-1', '7') })}\n`];
  const listWatch: ListWatch<KubeObject, string> = await onServer(
    () => ({ metadata: { resourceVersion: '5' }, items: [] }),
    () => events.splice(0).join(''),
    { onChange: () => void told.push(listWatch.version) },
  );
  await vi.waitFor(() => expect(listWatch.size).toBe(1), { timeout: 10_000 });
  expect(told).toEqual([7n]);
});
