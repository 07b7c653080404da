import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeList, KubeObject, Stored } from '../api/objects.ts';
import type { WatchEvent } from './client.ts';
import { ListedParts, scopeOf, type Part } from './lib/parts.ts';

export interface VersionedStoreOptions<T extends KubeObject, V> {
  /** What to keep of an object; the rest is dropped, so that tens of thousands of objects fit in memory. */
  view: (object: Stored<T>) => V;
  /** Whether objects of this namespace are kept; of others, only the versions count. By default all are. */
  keeps?: ((namespace: string) => boolean) | undefined;
  /**
   * Called when `view` throws for an object, for example an invalid object that the schema lets pass. It stays as it
   * was known, or unknown: one object does not keep the others from being followed.
   */
  onError?: (error: Error) => void;
  /** Called after the store has changed; `undefined` means that the object did not exist before, or is deleted now. */
  onChange?: (key: string, before: V | undefined, after: V | undefined) => void;
}

/** The version of what was known before the API server was restored: whatever it says now is newer. */
const NO_VERSION = -1n;

interface Entry<V> {
  view: V;
  version: bigint;
}

/**
 * A copy of a collection, made of lists and watch events. A list may be older than an event that comes while it is in
 * flight: each object stays at the newest version that any of them has reported. If the API server has been restored
 * from a backup, versions go back: the versions of what is known count for nothing then, and until a whole list has
 * been applied the store is not synced.
 */
export class VersionedStore<T extends KubeObject, V> {
  readonly #options: VersionedStoreOptions<T, V>;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #waiting = new Set<{ version: bigint; part: Part | undefined; resolve: () => void }>();
  /** Deletions that the watch reported while a list was in flight: the list may be older than they are. */
  readonly #tombstones = new Map<string, bigint>();
  #listing = 0;
  #version = 0n;
  /** The newest version of anything that a list or an event has changed here. */
  #changedAt = 0n;
  /** The versions at which all and, by their scopes, parts were listed: events up to then are known. */
  #listedAt = 0n;
  readonly #parts = new ListedParts();
  #synced = false;
  /** How often what is known was distrusted. */
  #restores = 0;

  constructor(options: VersionedStoreOptions<T, V>) {
    this.#options = options;
  }

  /** Whether a whole list has been applied, since the API server was last seen to be another one. */
  get synced(): boolean {
    return this.#synced;
  }

  /** The newest resource version that the store holds; while it is not synced, it may be missing older ones. */
  get version(): bigint {
    return this.#version;
  }

  /**
   * What another copy must have reached to know as much of a namespace, or of all: parts may be known at a newer
   * version than the rest.
   */
  newestIn(namespace?: string): bigint {
    const newest = [this.#version, this.#changedAt, this.#parts.newestIn(namespace)];
    return newest.reduce((a, b) => (a > b ? a : b));
  }

  /** Reports whether the store has everything, or all of a part, as of this version, or newer. */
  hasReached(version: bigint, part?: Part): boolean {
    return this.#synced && (this.#version >= version || (part !== undefined && this.#parts.at(part) >= version));
  }

  /** `key` is `namespace/name`, or the name alone for objects without a namespace. */
  get(key: string): V | undefined {
    return this.#entries.get(key)?.view;
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  *values(): Generator<V> {
    for (const entry of this.#entries.values()) yield entry.view;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Changes the view of an object: something else that belongs to the view has changed. */
  amend(key: string, change: (view: V) => V): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const after = change(entry.view);
    if (after === entry.view) return;
    this.#entries.set(key, { ...entry, view: after });
    this.#options.onChange?.(key, entry.view, after);
  }

  /** Resolves to true once the store, or the part, has reached `version`; to false if `timeoutMs` passes first. */
  async reached(version: bigint, timeoutMs: number, part?: Part): Promise<boolean> {
    if (this.hasReached(version, part)) return true;
    const arrived = Promise.withResolvers<void>();
    const waiter = { version, part, resolve: arrived.resolve };
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
   * Takes over a list of all or of a part, page by page. Returns the number of changes that no event had reported; 0
   * for the first list, and for a part. `onRestored` is called if the list is older than the store: nothing that was
   * known counts then.
   */
  protected async applyList(pages: AsyncIterable<KubeList<T>>, onRestored: () => void, part?: Part): Promise<number> {
    this.#listing++;
    try {
      return await this.#applyPages(pages, onRestored, part);
    } finally {
      if (--this.#listing === 0) this.#tombstones.clear();
    }
  }

  async #applyPages(pages: AsyncIterable<KubeList<T>>, onRestored: () => void, part?: Part): Promise<number> {
    // Asked before the request is sent: events that come before its answer may be newer than that.
    const reached = this.#version;
    let restores = this.#restores;
    let version: bigint | undefined;
    const present = new Set<string>();
    let changes = 0;
    // Only the views outlive each page: whole objects of a large cluster would not fit in memory.
    for await (const { metadata, items } of pages) {
      if (version === undefined) {
        version = BigInt(metadata.resourceVersion);
        // Versions only go back if the cluster was restored from a backup.
        if (version < reached && restores === this.#restores) {
          this.distrust();
          restores = this.#restores;
          onRestored();
        }
      }
      for (const item of items) {
        if (!this.isKept(item)) continue;
        const key = namespacedName(item);
        present.add(key);
        if ((this.#tombstones.get(key) ?? -1n) >= BigInt(item.metadata.resourceVersion)) continue;
        if (!this.#isNews(key, item, version)) continue;
        if (this.#put(key, item)) changes++;
      }
    }
    if (version === undefined) throw new TypeError('a list has no page');
    if (restores !== this.#restores) throw new Error('the API server was restored during a list');
    for (const key of this.#keysIn(part)) {
      // An entry newer than the list was added by the watch while the list was in flight.
      if (present.has(key) || this.#entries.get(key)!.version > version) continue;
      if (version > this.#changedAt) this.#changedAt = version;
      if (this.#remove(key)) changes++;
    }
    if (part !== undefined) {
      this.#parts.listed(part, version, this.#version);
      this.#wake();
      // The watch reports them still.
      return 0;
    }
    const missed = this.#synced ? changes : 0;
    this.#synced = true;
    this.#listedAt = version;
    this.#advance(version);
    return missed;
  }

  *#keysIn(part: Part | undefined): Generator<string> {
    if (part === undefined) return yield* this.#entries.keys();
    const scope = scopeOf(part);
    if (part.name !== undefined) {
      if (this.#entries.has(scope)) yield scope;
    } else for (const key of this.#entries.keys()) if (key.startsWith(`${scope}/`)) yield key;
  }

  /** The version up to which lists have covered an object: an earlier event of one that they lack is old. */
  #toldAt(key: string): bigint {
    const [namespace = '', name] = key.split('/');
    const at = name === undefined ? NO_VERSION : this.#parts.at({ namespace, name });
    return at > this.#listedAt ? at : this.#listedAt;
  }

  protected isKept({ metadata: { namespace } }: KubeObject): boolean {
    return namespace === undefined || this.#options.keeps === undefined || this.#options.keeps(namespace);
  }

  protected applyEvent({ type, object }: Exclude<WatchEvent<T>, { type: 'ERROR' }>): void {
    const version = BigInt(object.metadata.resourceVersion);
    // Set first, since listeners ask how new the store is: a version from before this change would let others plan
    // without it.
    if (version > this.#version) this.#version = version;
    if (!this.isKept(object)) return this.#advance(version);
    if (type === 'DELETED') this.#remove(namespacedName(object), version);
    else if (type !== 'BOOKMARK') {
      const key = namespacedName(object);
      if (version > (this.#entries.get(key)?.version ?? this.#toldAt(key))) this.#put(key, object);
    }
    this.#advance(version);
  }

  /**
   * Forgets at which versions objects are known, and which version has been reached: the API server no longer has the
   * history that they come from. What is known stays until a list, or an event, says otherwise.
   */
  protected distrust(): void {
    this.#restores++;
    this.#synced = false;
    this.#version = 0n;
    this.#changedAt = 0n;
    this.#listedAt = 0n;
    this.#parts.clear();
    this.#tombstones.clear();
    for (const entry of this.#entries.values()) entry.version = NO_VERSION;
  }

  /** Forgets all that is known, since it is no longer known what exists. */
  protected forget(): void {
    // First: to listeners that hear of the rest, what is gone must not look deleted.
    this.distrust();
    for (const key of this.#entries.keys()) this.#remove(key);
  }

  /**
   * Reports whether a list of this version says something else of the object than is known. A list that is not older
   * than what is known, and shows the object at an older version, comes from a cluster that was restored: its versions
   * continue from a higher one.
   */
  #isNews(key: string, { metadata }: Stored<T>, list: bigint): boolean {
    const known = this.#entries.get(key)?.version ?? NO_VERSION;
    const version = BigInt(metadata.resourceVersion);
    return version > known || (version < known && known <= list);
  }

  /** Returns whether the object is known as it is now. */
  #put(key: string, object: Stored<T>): boolean {
    const before = this.#entries.get(key);
    const version = BigInt(object.metadata.resourceVersion);
    let view: V;
    try {
      view = this.#options.view(object);
    } catch (error) {
      if (before !== undefined) this.#entries.set(key, { ...before, version });
      this.#options.onError?.(new Error(`${key} can't be read: ${(error as Error).message}`, { cause: error }));
      return false;
    }
    this.#entries.set(key, { view, version });
    if (version > this.#changedAt) this.#changedAt = version;
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

  #advance(version: bigint): void {
    if (version > this.#version) this.#version = version;
    this.#wake();
  }

  #wake(): void {
    for (const { version, part, resolve } of this.#waiting) if (this.hasReached(version, part)) resolve();
  }
}

export const namespacedName = (object: KubeObject): string =>
  object.metadata.namespace === undefined
    ? object.metadata.name
    : `${object.metadata.namespace}/${object.metadata.name}`;
