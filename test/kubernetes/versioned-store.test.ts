import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { KubeList, KubeObject, Stored } from '../../api/objects.ts';
import { VersionedStore } from '../../kubernetes/versioned-store.ts';

/** A store that a test fills by itself. */
class Store extends VersionedStore<KubeObject, string> {
  constructor() {
    super({ view: ({ metadata }) => metadata.uid });
  }

  list(pages: AsyncIterable<KubeList>): Promise<number> {
    return this.applyList(pages, () => {});
  }

  tell(type: 'ADDED' | 'DELETED', object: Stored): void {
    this.applyEvent({ type, object });
  }
}

/** An API server whose etcd may be put back. */
class Server {
  version = 100;
  readonly objects = new Map<string, Stored>();
  #backup: { version: number; objects: [string, Stored][] } = { version: 100, objects: [] };

  write(name: string): Stored {
    const object = this.#at(name);
    this.objects.set(name, object);
    return object;
  }

  delete(name: string): Stored | undefined {
    return this.objects.delete(name) ? this.#at(name) : undefined;
  }

  backUp(): void {
    this.#backup = { version: this.version, objects: [...this.objects] };
  }

  /** `raisedBy`: by how much the revision is raised with it. */
  restore(raisedBy: number): void {
    this.version = raisedBy === 0 ? this.#backup.version : this.version + raisedBy;
    this.objects.clear();
    for (const [name, object] of this.#backup.objects) this.objects.set(name, object);
  }

  /** A list with one object a page, as it was when it began. */
  async *pages(): AsyncGenerator<KubeList> {
    const metadata = { resourceVersion: String(this.version) };
    const all = [...this.objects.values()];
    yield { metadata, items: all.slice(0, 1) };
    for (const object of all.slice(1)) yield { metadata, items: [object] };
  }

  #at(name: string): Stored {
    const resourceVersion = String(++this.version);
    const metadata = { namespace: 'shop', name, uid: `${name}@${resourceVersion}`, resourceVersion };
    return { metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' } };
  }
}

const name = fc.constantFrom('a', 'b');
type Act =
  /** `isHeard`: the watch tells of it, as long as etcd has not been put back since the last list. */
  | { act: 'write' | 'delete'; name: string; isHeard: boolean }
  | { act: 'list' | 'back up' }
  | { act: 'restore'; raisedBy: number };

const anyAct: fc.Arbitrary<Act> = fc.oneof(
  {
    arbitrary: fc.record({ act: fc.constantFrom('write', 'write', 'delete'), name, isHeard: fc.boolean() }),
    weight: 3,
  },
  { arbitrary: fc.record({ act: fc.constantFrom('list', 'back up') }), weight: 1 },
  { arbitrary: fc.record({ act: fc.constant('restore'), raisedBy: fc.constantFrom(0, 1_000) }), weight: 1 },
);

test('the store equals the API server after each list, whatever was missed, and however often etcd was restored', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAct, { minLength: 5, maxLength: 30 }), async (acts) => {
      const [server, store] = [new Server(), new Store()];
      let follows = true;
      const all: Act[] = [...acts, { act: 'list' }];
      for (const one of all) {
        switch (one.act) {
          case 'back up':
            server.backUp();
            break;
          case 'restore':
            server.restore(one.raisedBy);
            follows = false;
            break;
          case 'list': {
            await store.list(server.pages());
            follows = true;
            const there = [...server.objects.values()].map(({ metadata }) => metadata.uid);
            expect([...store.values()].toSorted()).toEqual(there.toSorted());
            expect(store).toMatchObject({ synced: true, version: BigInt(server.version) });
            break;
          }
          case 'write':
          case 'delete': {
            const object = server[one.act](one.name);
            if (object !== undefined && one.isHeard && follows)
              store.tell(one.act === 'write' ? 'ADDED' : 'DELETED', object);
          }
        }
      }
    }),
  );
});

function uidOf({ metadata, spec }: Stored): string {
  if (spec === null) throw new TypeError('its spec is null');
  return metadata.uid;
}

test('an object without a readable view stays as it was known, and does not stop others from being followed', async () => {
  const errors: string[] = [];
  class Picky extends VersionedStore<KubeObject, string> {
    constructor() {
      super({ view: uidOf, onError: ({ message }) => errors.push(message) });
    }

    list(items: Stored[], resourceVersion: string): Promise<number> {
      async function* pages(): AsyncGenerator<KubeList> {
        yield { metadata: { resourceVersion }, items };
      }
      return this.applyList(pages(), () => {});
    }

    tell(object: Stored): void {
      this.applyEvent({ type: 'MODIFIED', object });
    }
  }
  const server = new Server();
  const store = new Picky();
  const [web, db] = [server.write('web'), server.write('db')];
  const cache = { ...server.write('cache'), spec: null };
  expect(await store.list([cache, web, db], String(server.version))).toBe(0);
  expect(store.synced).toBe(true);
  expect([...store.values()]).toEqual([web.metadata.uid, db.metadata.uid]);
  expect(errors).toEqual(["shop/cache can't be read: its spec is null"]);
  const broken = { ...server.write('web'), spec: null };
  store.tell(broken);
  const later = server.write('db');
  store.tell(later);
  expect([...store.values()]).toEqual([web.metadata.uid, later.metadata.uid]);
  expect(String(store.version)).toBe(later.metadata.resourceVersion);
  // None of these is a change that the watch has missed.
  expect(await store.list([cache, broken, later], String(server.version))).toBe(0);
  const mended = server.write('web');
  store.tell(mended);
  expect(store.get('shop/web')).toBe(mended.metadata.uid);
});
