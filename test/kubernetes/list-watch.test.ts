import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch, type ListWatchOptions } from '../../kubernetes/list-watch.ts';
import { eventually } from '../wait-for.ts';

type Options = Pick<
  ListWatchOptions<KubeObject, string>,
  'onChange' | 'onError' | 'isOptional' | 'lateMs' | 'onMissing'
>;

/**
 * Starts a list-watch on a server that answers every list with `list`, and ends every watch right after what `onWatch`
 * returns.
 */
async function onServer(
  list: (query: URLSearchParams) => object | Promise<object>,
  onWatch: (query: URLSearchParams) => string | void | Promise<string> = () => {},
  options: Options = {},
): Promise<ListWatch<KubeObject, string>> {
  const answer = async (url: string): Promise<string> => {
    const query = new URL(url, 'http://it').searchParams;
    if (query.has('watch')) return (await onWatch(query)) ?? '';
    return JSON.stringify(await list(query));
  };
  const server = createServer((request, response) => {
    void answer(request.url!).then((body) => {
      const { code = 200 } = (body.startsWith('{"kind":"Status"') ? JSON.parse(body) : {}) as { code?: number };
      response.writeHead(code, { 'content-type': 'application/json' });
      response.end(body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = new KubeConfig();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: 'it', server: address, skipTLSVerify: true }, { name: 'it' });
  const client = new KubeClient(config);
  const listWatch = new ListWatch<KubeObject, string>({
    client,
    resource: VirtualMachines,
    view: (vm) => vm.metadata.uid,
    ...options,
  }).start();
  onTestFinished(async () => {
    await listWatch.stop();
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return listWatch;
}

test('a version of another collection is waited for no longer than a list takes', async () => {
  let lists = 0;
  const listWatch = await onServer(
    () => ({ metadata: { resourceVersion: String(++lists * 1_000) }, items: [] }),
    () => new Promise(() => {}),
  );
  await listWatch.ready();
  await listWatch.catchUpWithOther(900n, 60_000);
  expect(lists).toBe(1);
  await listWatch.catchUpWithOther(1_900n, 60_000);
  expect(lists).toBe(2);
});

test('a server that ends every watch as soon as it begins is called less and less often', async () => {
  const watches: number[] = [];
  await onServer(
    () => ({ metadata: { resourceVersion: '1' }, items: [] }),
    () => void watches.push(Date.now()),
  );
  await eventually(() => expect(watches.length).toBeGreaterThanOrEqual(4));
  // Back-offs of 250 ms, 500 ms and 1 s, each with 25 % jitter.
  expect(watches[3]! - watches[0]!).toBeGreaterThan(1_200);
});

test('a list that always expires before its last page is requested less and less often, and reported as failing', async () => {
  const lists: number[] = [];
  const errors: string[] = [];
  const expired = { code: 410, reason: 'Expired', message: 'The provided continue parameter is too old' };
  const list = (query: URLSearchParams): object => {
    if (query.has('continue')) return { kind: 'Status', ...expired };
    lists.push(Date.now());
    return { metadata: { resourceVersion: '1', continue: 'more' }, items: [] };
  };
  const listWatch = await onServer(list, undefined, { onError: ({ message }) => errors.push(message) });
  await eventually(() => expect(lists.length).toBeGreaterThanOrEqual(4));
  expect(lists[3]! - lists[0]!).toBeGreaterThan(1_200);
  expect(listWatch.behindMs).toBeGreaterThan(1_200);
  expect(errors[0]).toBe(expired.message);
});

test.each([
  [403, 'Forbidden', 'this client may not list it'],
  [404, 'NotFound', 'the API server does not serve it'],
])(
  'a kind that a worker can do without, and that is answered with %i, counts as known until it is there',
  async (code, reason, why) => {
    let isThere = false;
    const told: (string | null)[] = [];
    const errors: Error[] = [];
    const list = () =>
      isThere ? { metadata: { resourceVersion: '7' }, items: [vm('web-1', '7')] } : { kind: 'Status', code, reason };
    const options = {
      onMissing: (what: string | null) => told.push(what),
      onError: (error: Error) => errors.push(error),
    };
    const listWatch = await onServer(list, undefined, { isOptional: true, ...options });
    await listWatch.ready();
    await listWatch.catchUp(1_000n, 60_000);
    expect(listWatch).toMatchObject({ missing: why, synced: false, size: 0, behindMs: 0 });
    expect(errors).toEqual([]);
    isThere = true;
    await eventually(() => expect(listWatch.missing).toBeNull());
    expect(listWatch).toMatchObject({ synced: true, size: 1 });
    expect(told).toEqual([why, null]);
  },
);

test.each([
  [403, 'Forbidden', 'this client may not list it'],
  [404, 'NotFound', 'the API server does not serve it'],
])(
  'a kind that was there and is refused with %i for long is missing, and nothing of it is known',
  async (code, reason, why) => {
    let isThere = true;
    const refusal = { kind: 'Status', code, reason };
    const deleted: [string, boolean][] = [];
    const options: Options = {
      isOptional: true,
      lateMs: 500,
      onChange: (key, _before, after) => void (after === undefined && deleted.push([key, listWatch.synced])),
    };
    const listWatch = await onServer(
      () => (isThere ? { metadata: { resourceVersion: '7' }, items: [vm('web-1', '7')] } : refusal),
      () => (isThere ? undefined : JSON.stringify(refusal)),
      options,
    );
    await listWatch.ready();
    isThere = false;
    await eventually(() => expect(listWatch.missing).toBe(why));
    expect(listWatch).toMatchObject({ synced: false, size: 0, behindMs: 0 });
    // What a node is to healing: not known any more, rather than gone.
    expect(deleted).toEqual([['shop/web-1', false]]);
    isThere = true;
    await eventually(() => expect(listWatch).toMatchObject({ missing: null, synced: true, size: 1 }));
  },
);

test('a kind that was there is not missing at once: after a restore, the API server may serve it late', async () => {
  let isThere = true;
  const errors: string[] = [];
  const list = () =>
    isThere
      ? { metadata: { resourceVersion: '7' }, items: [vm('web-1', '7')] }
      : { kind: 'Status', code: 404, reason: 'NotFound', message: 'late' };
  const options = { isOptional: true, onError: ({ message }: Error) => errors.push(message) };
  const listWatch = await onServer(list, undefined, options);
  await listWatch.ready();
  isThere = false;
  listWatch.restart();
  await eventually(() => expect(errors).toContain('late'));
  expect(listWatch).toMatchObject({ missing: null, synced: false });
  isThere = true;
  await eventually(() => expect(listWatch.synced).toBe(true));
});

test('a kind that a worker needs keeps it waiting, and is an error', async () => {
  const errors: string[] = [];
  const forbidden = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' };
  let isThere = false;
  const list = () => (isThere ? { metadata: { resourceVersion: '7' }, items: [] } : forbidden);
  const listWatch = await onServer(list, undefined, { onError: ({ message }) => errors.push(message) });
  await eventually(() => expect(errors).toContain('no'));
  expect(listWatch).toMatchObject({ missing: null, synced: false });
  isThere = true;
  await listWatch.ready();
});

const vm = (name: string, resourceVersion: string) => ({
  metadata: { namespace: 'shop', name, uid: `${name}@${resourceVersion}`, resourceVersion },
});

test('a cluster that was restored from a backup, and counts from an older version, is followed from that version', async () => {
  let list = { metadata: { resourceVersion: '900' }, items: [vm('web-1', '700'), vm('web-2', '800')] };
  const listWatch = await onServer(() => list);
  await listWatch.ready();
  list = { metadata: { resourceVersion: '500' }, items: [vm('web-1', '400')] };
  await listWatch.relist();
  expect([...listWatch.values()]).toEqual(['web-1@400']);
  expect(listWatch.version).toBe(500n);
});

test('all callers that ask for a list while one is in progress share the next', async () => {
  let lists = 0;
  const listWatch = await onServer(() => ({ metadata: { resourceVersion: String(++lists) }, items: [] }));
  await listWatch.ready();
  const before = lists;
  const first = listWatch.relist();
  await Promise.resolve();
  await Promise.all([first, ...Array.from({ length: 20 }, () => listWatch.relist())]);
  expect(lists - before).toBeLessThanOrEqual(2);
});

test('a list is processed page by page: no page is held in memory for those that follow', async () => {
  const sizes: number[] = [];
  const listWatch: ListWatch<KubeObject, string> = await onServer((query) => {
    const page = Number(query.get('continue') ?? 0);
    if (page > 0 && sizes.length < 2) sizes.push(listWatch.size);
    const next = page < 2 ? { continue: String(page + 1) } : {};
    return { metadata: { resourceVersion: String(9 + page), ...next }, items: [vm(`web-${page}`, '5')] };
  });
  await listWatch.ready();
  expect(sizes).toEqual([1, 2]);
  expect(listWatch.size).toBe(3);
  // The version of the first page: the watch still has to report what changed while the other pages were read.
  expect(listWatch.version).toBe(9n);
});

test('an event of the watch during a list is newer than the list, and an object that the list lacks is gone', async () => {
  const events = Promise.withResolvers<string>();
  const told = [
    { type: 'DELETED', object: vm('deleted', '7') },
    { type: 'ADDED', object: vm('added', '8') },
    { type: 'MODIFIED', object: vm('modified', '9') },
  ];
  const before = [vm('deleted', '2'), vm('gone', '3'), vm('modified', '4'), vm('same', '5')];
  let lists = 0;
  const listWatch: ListWatch<KubeObject, string> = await onServer(
    async (query) => {
      if (lists === 0) return { metadata: { resourceVersion: String(++lists + 4) }, items: before };
      const metadata = { resourceVersion: '6' };
      if (!query.has('continue')) return { metadata: { ...metadata, continue: 'more' }, items: [vm('same', '5')] };
      events.resolve(told.map((event) => `${JSON.stringify(event)}\n`).join(''));
      await eventually(() => expect(listWatch.version).toBe(9n));
      return { metadata, items: [vm('deleted', '2'), vm('modified', '4')] };
    },
    () => events.promise,
  );
  await listWatch.ready();
  expect(listWatch.size).toBe(4);
  await listWatch.relist();
  expect([...listWatch.values()].toSorted()).toEqual(['added@8', 'modified@9', 'same@5']);
});

test('the cache has reached the version of a change when onChange is called', async () => {
  const told: bigint[] = [];
  const events = [`${JSON.stringify({ type: 'ADDED', object: vm('web-1', '7') })}\n`];
  const listWatch: ListWatch<KubeObject, string> = await onServer(
    () => ({ metadata: { resourceVersion: '5' }, items: [] }),
    () => events.splice(0).join(''),
    { onChange: () => void told.push(listWatch.version) },
  );
  await eventually(() => expect(listWatch.size).toBe(1));
  expect(told).toEqual([7n]);
});

test('an empty list may have null instead of items, as lists of metadata alone do', async () => {
  const listWatch = await onServer(() => ({ metadata: { resourceVersion: '1' }, items: null }));
  await eventually(() => expect(listWatch.synced).toBe(true));
  expect([...listWatch.values()]).toEqual([]);
});

describe('a watch of a restored cluster that is being listed', () => {
  const before = [vm('web-1', '700'), vm('web-2', '800'), vm('web-3', '850')];
  const backup = [vm('web-1', '400'), vm('web-2', '410'), vm('web-4', '420')];

  test('is not synced, and shows what it has until the list says otherwise', async () => {
    let isRestored = false;
    const changes: string[] = [];
    const between: unknown[] = [];
    const listWatch: ListWatch<KubeObject, string> = await onServer(
      async (query) => {
        if (!isRestored) return { metadata: { resourceVersion: '900' }, items: before };
        const page = Number(query.get('continue') ?? 0);
        if (page > 0) {
          const isReached = await listWatch.reached(0n, 10);
          between.push({ synced: listWatch.synced, isReached, size: listWatch.size, version: listWatch.version });
        }
        const more = page < backup.length - 1 ? { continue: String(page + 1) } : {};
        return { metadata: { resourceVersion: '500', ...more }, items: [backup[page]] };
      },
      // As a watch from a version that the server does not have yet.
      () => new Promise(() => {}),
      { onChange: (key, _before, after) => void changes.push(after ?? `${key} is gone`) },
    );
    await listWatch.ready();
    changes.length = 0;
    isRestored = true;
    await listWatch.relist();
    const partly = { synced: false, isReached: false, size: 3, version: 0n };
    expect(between.slice(0, 2)).toEqual([partly, partly]);
    expect([...listWatch.values()].toSorted()).toEqual(['web-1@400', 'web-2@410', 'web-4@420']);
    expect(changes.slice(0, 4)).toEqual(['web-1@400', 'web-2@410', 'web-4@420', 'shop/web-3 is gone']);
    expect(listWatch).toMatchObject({ synced: true, version: 500n });
  });

  test('begins anew from its version', async () => {
    let list = { metadata: { resourceVersion: '900' }, items: before };
    const from: (string | null)[] = [];
    const listWatch = await onServer(
      () => list,
      (query) => {
        from.push(query.get('resourceVersion'));
        return new Promise(() => {});
      },
    );
    await eventually(() => expect(from).toEqual(['900']));
    list = { metadata: { resourceVersion: '500' }, items: backup };
    await listWatch.relist();
    await eventually(() => expect(from).toEqual(['900', '500']));
    listWatch.restart();
    expect(listWatch.synced).toBe(false);
    await eventually(() => expect(from).toEqual(['900', '500', '500']));
    expect(listWatch).toMatchObject({ synced: true, version: 500n });
  });

  test('asks once in vain for a version from before that', async () => {
    let lists = 0;
    const listWatch = await onServer(
      () => {
        lists++;
        return { metadata: { resourceVersion: '500' }, items: backup };
      },
      () => new Promise(() => {}),
    );
    await listWatch.ready();
    for (let times = 0; times < 3; times++) await listWatch.catchUp(900n, 1);
    expect(lists).toBe(2);
    await listWatch.catchUp(901n, 1);
    expect(lists).toBe(3);
  });

  test('objects that are older than their known versions are adopted, though versions continue from a higher one', async () => {
    let list = { metadata: { resourceVersion: '900' }, items: before };
    const listWatch = await onServer(
      () => list,
      () => new Promise(() => {}),
    );
    await listWatch.ready();
    list = { metadata: { resourceVersion: '1000000' }, items: backup };
    await listWatch.relist();
    expect([...listWatch.values()].toSorted()).toEqual(['web-1@400', 'web-2@410', 'web-4@420']);
  });
});

test('an event before the first page of a list is not a sign of a restore', async () => {
  const events = Promise.withResolvers<string>();
  let lists = 0;
  const listWatch: ListWatch<KubeObject, string> = await onServer(
    async () => {
      if (lists++ === 0) return { metadata: { resourceVersion: '5' }, items: [] };
      events.resolve(`${JSON.stringify({ type: 'ADDED', object: vm('web-1', '9') })}\n`);
      await eventually(() => expect(listWatch.version).toBe(9n));
      return { metadata: { resourceVersion: '6' }, items: [] };
    },
    () => events.promise,
  );
  await listWatch.ready();
  await listWatch.relist();
  expect([...listWatch.values()]).toEqual(['web-1@9']);
  expect(listWatch).toMatchObject({ synced: true, version: 9n });
});
