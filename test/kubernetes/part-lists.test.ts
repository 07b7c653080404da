import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { KubeList, KubeObject, Stored } from '../../api/objects.ts';
import type { Part } from '../../kubernetes/lib/parts.ts';
import { VersionedStore } from '../../kubernetes/versioned-store.ts';

class Store extends VersionedStore<KubeObject, string> {
  constructor() {
    super({ view: ({ metadata }) => metadata.uid });
  }

  list(pages: AsyncIterable<KubeList>, part?: Part): Promise<number> {
    return this.applyList(pages, () => {}, part);
  }

  tell({ type, object }: Told): void {
    this.applyEvent({ type, object });
  }

  /** UIDs of all objects of a part. */
  uidsIn(part: Part): string[] {
    return [...this.keys()].filter((key) => isIn(key, part)).map((key) => this.get(key)!);
  }
}

interface Told {
  type: 'MODIFIED' | 'DELETED';
  object: Stored;
}

const isIn = (key: string, { namespace, name }: Part): boolean =>
  name === undefined ? key.startsWith(`${namespace}/`) : key === `${namespace}/${name}`;

/** An API server whose watch tells later what has happened. */
class Server {
  version = 100;
  readonly objects = new Map<string, Stored>();
  readonly untold: Told[] = [];
  /** UIDs by version and key. */
  readonly #history = new Map<number, Map<string, string>>([[100, new Map()]]);

  write(key: string): void {
    const object = this.#at(key);
    this.objects.set(key, object);
    this.untold.push({ type: 'MODIFIED', object });
    this.#note();
  }

  delete(key: string): void {
    if (!this.objects.delete(key)) return;
    this.untold.push({ type: 'DELETED', object: this.#at(key) });
    this.#note();
  }

  uidsIn(part: Part, version: number): string[] {
    const all = [...this.#history.get(version)!];
    return all.flatMap(([key, uid]) => (isIn(key, part) ? [uid] : []));
  }

  async *pages(part?: Part): AsyncGenerator<KubeList> {
    const items = [...this.objects].flatMap(([key, one]) => (part === undefined || isIn(key, part) ? [one] : []));
    yield { metadata: { resourceVersion: String(this.version) }, items };
  }

  #note(): void {
    const uids = [...this.objects].map(([key, { metadata }]): [string, string] => [key, metadata.uid]);
    this.#history.set(this.version, new Map(uids));
  }

  #at(key: string): Stored {
    const resourceVersion = String(++this.version);
    const [namespace, name] = key.split('/') as [string, string];
    const metadata = { namespace, name, uid: `${key}@${resourceVersion}`, resourceVersion };
    return { metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' } };
  }
}

const KEYS = ['bank/a', 'bank/b', 'shop/a', 'shop/b'];
const PARTS: Part[] = [
  { namespace: 'bank' },
  { namespace: 'shop' },
  ...KEYS.map((key) => ({ namespace: key.split('/')[0]!, name: key.split('/')[1]! })),
];
const anyAct = fc.oneof(
  fc.record({ act: fc.constantFrom('write', 'write', 'delete'), key: fc.constantFrom(...KEYS) }),
  fc.record({ act: fc.constantFrom('tell', 'tell', 'tell', 'list') }),
  fc.record({ act: fc.constant('list'), part: fc.constantFrom(...PARTS) }),
);

test('a part that was listed is as the API server had it, whatever the watch tells later, and another copy knows as much at `newestIn`', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAct, { maxLength: 40 }), async (acts) => {
      const [server, store] = [new Server(), new Store()];
      await store.list(server.pages());
      for (const { act, key, part } of acts as { act: string; key: string; part?: Part }[]) {
        if (act === 'write' || act === 'delete') server[act](key);
        else if (act === 'list') await store.list(server.pages(part), part);
        else if (server.untold.length > 0) store.tell(server.untold.shift()!);
        for (const one of PARTS) {
          if (!store.hasReached(BigInt(server.version), one)) continue;
          const now = server.uidsIn(one, server.version);
          expect(store.uidsIn(one).toSorted()).toEqual(now.toSorted());
          expect(server.uidsIn(one, Number(store.newestIn(one.namespace))).toSorted()).toEqual(now.toSorted());
        }
      }
      for (const told of server.untold) store.tell(told);
      for (const part of PARTS)
        expect(store.uidsIn(part).toSorted()).toEqual(server.uidsIn(part, server.version).toSorted());
    }),
    { numRuns: 1000 },
  );
});

test('a part that is listed ends the wait of those who read only that', async () => {
  const [server, store] = [new Server(), new Store()];
  await store.list(server.pages());
  server.write('shop/a');
  const waits = PARTS.map((part) => store.reached(101n, 60_000, part));
  await store.list(server.pages({ namespace: 'shop' }), { namespace: 'shop' });
  const ofShop = waits.filter((_, index) => PARTS[index]!.namespace === 'shop');
  expect(await Promise.all(ofShop)).toEqual([true, true, true]);
  expect(store.hasReached(101n, { namespace: 'bank' })).toBe(false);
  store.tell(server.untold.shift()!);
  await Promise.all(waits);
});
