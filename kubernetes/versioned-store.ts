import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeList, KubeObject, Stored } from '../api/objects.ts';
import type { WatchEvent } from './client.ts';

export interface VersionedStoreOptions<T extends KubeObject, V> {
  /** What to keep of an object; the rest is dropped, so that tens of thousands of objects fit in memory. */
  view: (object: Stored<T>) => V;
  /** Called after the store has changed; `undefined` means that the object did not exist before, or is deleted now. */
  onChange?: (key: string, before: V | undefined, after: V | undefined) => void;
}

interface Entry<V> {
  view: V;
  version: bigint;
}

/**
 * A copy of a collection, made of lists and watch events. A list may be older than an event that comes while it is in
 * flight: each object stays at the newest version that any of them has reported.
 */
export class VersionedStore<T extends KubeObject, V> {
  readonly #options: VersionedStoreOptions<T, V>;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #waiting = new Set<{ version: bigint; resolve: () => void }>();
  /** Deletions that the watch reported while a list was in flight: the list may be older than they are. */
  readonly #tombstones = new Map<string, bigint>();
  #listing = 0;
  #version = 0n;
  #synced = false;

  constructor(options: VersionedStoreOptions<T, V>) {
    this.#options = options;
  }

  /** Whether a whole list has been applied. */
  get synced(): boolean {
    return this.#synced;
  }

  /** The newest resource version that the store holds. */
  get version(): bigint {
    return this.#version;
  }

  /** `key` is `namespace/name`, or the name alone for objects without a namespace. */
  get(key: string): V | undefined {
    return this.#entries.get(key)?.view;
  }

  *values(): Generator<V> {
    for (const entry of this.#entries.values()) yield entry.view;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Changes the view of an object: something beside the object that belongs to the view has changed. */
  amend(key: string, change: (view: V) => V): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const after = change(entry.view);
    if (after === entry.view) return;
    this.#entries.set(key, { ...entry, view: after });
    this.#options.onChange?.(key, entry.view, after);
  }

  /** Resolves to true once the store has reached `version`; to false if `timeoutMs` passes first. */
  async reached(version: bigint, timeoutMs: number): Promise<boolean> {
    if (this.#synced && this.#version >= version) return true;
    const arrived = Promise.withResolvers<void>();
    const waiter = { version, resolve: arrived.resolve };
    this.#waiting.add(waiter);
    const timeout = new AbortController();
    try {
      return await Promise.race([
        arrived.promise.then(() => true),
        sleep(timeoutMs, false, { signal: timeout.signal }).catch(() => false),
      ]);
    } finally {
      timeout.abort();
      this.#waiting.delete(waiter);
    }
  }

  /**
   * Takes over a list, page by page. Returns the number of changes that no event had reported; 0 for the first list.
   * `onRestored` is called if the list is older than the store: nothing that was known counts then.
   */
  protected async applyList(pages: AsyncIterable<KubeList<T>>, onRestored: () => void): Promise<number> {
    this.#listing++;
    try {
      return await this.#applyPages(pages, onRestored);
    } finally {
      if (--this.#listing === 0) this.#tombstones.clear();
    }
  }

  async #applyPages(pages: AsyncIterable<KubeList<T>>, onRestored: () => void): Promise<number> {
    const known = this.#version;
    let version: bigint | undefined;
    const present = new Set<string>();
    let changes = 0;
    // Only the views outlive each page: whole objects of a large cluster would not fit in memory.
    for await (const { metadata, items } of pages) {
      if (version === undefined) {
        version = BigInt(metadata.resourceVersion);
        // Versions only go back if the cluster was restored from a backup.
        if (version < known) {
          this.#clear(version);
          onRestored();
        }
      }
      for (const item of items) {
        const key = namespacedName(item);
        present.add(key);
        if ((this.#tombstones.get(key) ?? -1n) >= BigInt(item.metadata.resourceVersion)) continue;
        if (this.#put(key, item)) changes++;
      }
    }
    if (version === undefined) throw new TypeError('a list has no page');
    for (const [key, entry] of this.#entries) {
      // An entry newer than the list was added by the watch while the list was in flight.
      if (!present.has(key) && entry.version <= version && this.#remove(key)) changes++;
    }
    const missed = this.#synced ? changes : 0;
    this.#synced = true;
    this.#advance(version);
    return missed;
  }

  protected applyEvent({ type, object }: Exclude<WatchEvent<T>, { type: 'ERROR' }>): void {
    const version = BigInt(object.metadata.resourceVersion);
    // Set first, since listeners ask how new the store is: a version from before this change would let others plan
    // without it.
    if (version > this.#version) this.#version = version;
    if (type === 'DELETED') this.#remove(namespacedName(object), version);
    else if (type !== 'BOOKMARK') this.#put(namespacedName(object), object);
    this.#advance(version);
  }

  /** Returns true if the object was not known at this version. */
  #put(key: string, object: Stored<T>): boolean {
    const version = BigInt(object.metadata.resourceVersion);
    const before = this.#entries.get(key);
    if (before !== undefined && before.version >= version) return false;
    const view = this.#options.view(object);
    this.#entries.set(key, { view, version });
    this.#options.onChange?.(key, before?.view, view);
    return true;
  }

  #remove(key: string, version?: bigint): boolean {
    if (version !== undefined && this.#listing > 0) this.#tombstones.set(key, version);
    const before = this.#entries.get(key);
    if (before === undefined || (version !== undefined && before.version > version)) return false;
    this.#entries.delete(key);
    this.#options.onChange?.(key, before.view, undefined);
    return true;
  }

  #clear(version: bigint): void {
    for (const key of this.#entries.keys()) this.#remove(key);
    this.#version = version;
  }

  #advance(version: bigint): void {
    if (version > this.#version) this.#version = version;
    for (const waiter of this.#waiting) if (this.#version >= waiter.version) waiter.resolve();
  }
}

export const namespacedName = (object: KubeObject): string =>
  object.metadata.namespace === undefined
    ? object.metadata.name
    : `${object.metadata.namespace}/${object.metadata.name}`;
