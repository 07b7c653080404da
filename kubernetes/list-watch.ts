import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, Stored } from '../api/objects.ts';
import type { Resource } from '../api/resources.ts';
import type { KubeClient } from './client.ts';
import { isGone, KubeError } from './errors.ts';

export interface ListWatchOptions<T extends KubeObject, V> {
  client: KubeClient;
  resource: Resource;
  namespace?: string;
  labelSelector?: string;
  /** Whether objects come with their metadata alone. */
  metadataOnly?: boolean;
  /** What to keep of an object; the rest is dropped, so that tens of thousands of objects fit in memory. */
  view: (object: Stored<T>) => V;
  /** Called after the cache has changed; `undefined` means that the object did not exist before, or is deleted now. */
  onChange?: (key: string, before: V | undefined, after: V | undefined) => void;
  /** Called for each watch event, in order, even if a relist has already delivered the change. */
  onWatchEvent?: (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Stored<T>) => void;
  /** Called when the watch begins at `version`: it has not reported earlier changes. */
  onGap?: (version: bigint) => void;
  /** Called when the server has begun to answer a watch. */
  onOpen?: () => void;
  /** Called when a watch broke; it is started again. */
  onError?: (error: Error) => void;
  /** Called when a relist found this many changes that no watch event had reported. */
  onMissed?: (count: number) => void;
  relistMs?: number;
}

const FIRST_DELAY_MS = 250;
const LAST_DELAY_MS = 5_000;
/** A list that expires (410) this soon would do so again: the next one waits. */
const FRESH_MS = 1_000;
/** A watch that ends sooner than this without an event is a fault, for instance of a proxy without a backend. */
const SHORT_MS = 1_000;
const WATCH_SECONDS = { least: 240, more: 60 };
/**
 * Longer than the pause between failures: a watch that has not failed for this long follows again, even if nothing has
 * happened that it could report.
 */
const QUIET_MS = 10_000;
const WATCHDOG_SLACK_MS = 15_000;

interface Entry<V> {
  view: V;
  version: bigint;
}

/**
 * A copy of a collection that follows the API server until it is stopped.
 *
 * client-node's informer ends for good on the first error other than 410, never lists in pages and never relists
 * (2.0.1); this one backs off and retries forever, ends a silent watch by its own clock, and relists every `relistMs`
 * to find what a watch has missed.
 */
export class ListWatch<T extends KubeObject, V> {
  readonly #options: ListWatchOptions<T, V>;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #stop = new AbortController();
  readonly #firstList = Promise.withResolvers<void>();
  readonly #waiting = new Set<{ version: bigint; resolve: () => void }>();
  /** Deletions that the watch reported while a list was in flight: the list may be older than they are. */
  readonly #tombstones = new Map<string, bigint>();
  #listing = 0;
  #version = 0n;
  /**
   * The watch has reported every change up to this version; a list only shows the current state, not what happened in
   * between. Null until the watch begins.
   */
  #watchedVersion: bigint | null = null;
  #synced = false;
  #brokenAt: number | undefined;
  #failedAt = -Infinity;
  #running: Promise<void> | undefined;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(options: ListWatchOptions<T, V>) {
    this.#options = options;
  }

  start(): this {
    this.#running ??= this.#run();
    return this;
  }

  /** Resolves once the first list is in the cache. */
  ready(): Promise<void> {
    return this.#firstList.promise;
  }

  get synced(): boolean {
    return this.#synced;
  }

  /** For how long this has failed to follow the API server, in milliseconds; 0 if it follows. */
  get behindMs(): number {
    const isBroken = this.#brokenAt !== undefined && performance.now() - this.#failedAt < QUIET_MS;
    return isBroken ? performance.now() - this.#brokenAt! : 0;
  }

  /** The newest resource version that the cache holds. */
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

  /** Resolves to true once the cache has reached `version`; to false if `timeoutMs` passes first. */
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

  /** Lists now, whatever the watch has reported: for readers that cannot wait for the watch to catch up. */
  relist(): Promise<void> {
    // A list in flight may be older than what the caller has seen; all who ask meanwhile share the next one.
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      const list = this.#list();
      this.#current = list.catch(() => {});
      return list;
    });
    return this.#next;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#firstList.promise.catch(() => {});
    await this.#running;
  }

  async #run(): Promise<void> {
    const { relistMs = 600_000, onError } = this.#options;
    let delay = FIRST_DELAY_MS;
    let listed = -Infinity;
    while (!this.#stop.signal.aborted) {
      try {
        if (Date.now() - listed >= relistMs) {
          await this.#list();
          listed = Date.now();
        }
        const began = Date.now();
        let told = false;
        await this.#watch(() => {
          told = true;
          delay = FIRST_DELAY_MS;
        });
        if (!told && Date.now() - began < SHORT_MS) throw new Error('the watch was ended as soon as it had begun');
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (isGone(error)) {
          const isBehind = this.#watchedVersion !== null && this.#watchedVersion < this.#version;
          this.#watchedVersion = null;
          // A list has succeeded since: the watch can continue from there.
          if (isBehind) continue;
          const justListed = Date.now() - listed < FRESH_MS;
          listed = -Infinity;
          if (!justListed) continue;
        }
        if (performance.now() - this.#failedAt > QUIET_MS) this.#brokenAt = undefined;
        this.#failedAt = performance.now();
        this.#brokenAt ??= this.#failedAt;
        onError?.(error as Error);
        await sleep(delay * (0.75 + Math.random() / 2), undefined, { signal: this.#stop.signal }).catch(() => {});
        delay = Math.min(delay * 2, LAST_DELAY_MS);
      }
    }
  }

  async #list(): Promise<void> {
    this.#listing++;
    try {
      await this.#listOnce();
    } finally {
      if (--this.#listing === 0) this.#tombstones.clear();
    }
  }

  async #listOnce(): Promise<void> {
    const { client, resource, namespace, labelSelector, metadataOnly = false, onMissed } = this.#options;
    const known = this.#version;
    const pages = client.pages<T>(resource, {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      metadataOnly,
      signal: this.#stop.signal,
    });
    let version: bigint | undefined;
    const present = new Set<string>();
    let changes = 0;
    // Only the views outlive each page: whole objects of a large cluster would not fit in memory.
    for await (const { metadata, items } of pages) {
      if (version === undefined) {
        version = BigInt(metadata.resourceVersion);
        if (version < known) this.#forget(version);
      }
      for (const item of items) {
        const key = namespacedName(item);
        present.add(key);
        if ((this.#tombstones.get(key) ?? -1n) >= BigInt(item.metadata.resourceVersion)) continue;
        if (this.#put(key, item)) changes++;
      }
    }
    if (version === undefined) throw new TypeError(`the list of ${resource.plural} has no page`);
    for (const [key, entry] of this.#entries) {
      // An entry newer than the list was added by the watch while the list was in flight.
      if (!present.has(key) && entry.version <= version && this.#remove(key)) changes++;
    }
    if (this.#synced && changes > 0) onMissed?.(changes);
    this.#synced = true;
    this.#advance(version);
    this.#firstList.resolve();
  }

  async #watch(onProgress: () => void): Promise<void> {
    const { client, resource, namespace, labelSelector, relistMs = 600_000, onWatchEvent, onGap } = this.#options;
    const { metadataOnly = false, onOpen } = this.#options;
    if (this.#watchedVersion === null) {
      this.#watchedVersion = this.#version;
      onGap?.(this.#watchedVersion);
    }
    const seconds = Math.ceil(Math.min(WATCH_SECONDS.least + Math.random() * WATCH_SECONDS.more, relistMs / 1000));
    const watchdog = AbortSignal.timeout(seconds * 1000 + WATCHDOG_SLACK_MS);
    const events = client.watch<T>(resource, {
      ...(namespace === undefined ? {} : { namespace }),
      metadataOnly,
      query: {
        resourceVersion: String(this.#watchedVersion),
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(seconds),
        ...(labelSelector === undefined ? {} : { labelSelector }),
      },
      signal: AbortSignal.any([this.#stop.signal, watchdog]),
      onOpen: () => {
        this.#brokenAt = undefined;
        onOpen?.();
      },
    });
    try {
      for await (const event of events) {
        if (event.type === 'ERROR') {
          const {
            code,
            reason = String(code),
            message = `the watch of ${resource.plural} failed with ${code}`,
          } = event.object;
          throw new KubeError(code, reason, message);
        }
        this.#brokenAt = undefined;
        onProgress();
        const version = BigInt(event.object.metadata.resourceVersion);
        // Set first, since listeners ask how new the cache is: a version from before this change would let others plan
        // without it.
        if (version > this.#version) this.#version = version;
        if (event.type === 'DELETED') this.#remove(namespacedName(event.object), version);
        else if (event.type !== 'BOOKMARK') this.#put(namespacedName(event.object), event.object);
        if (event.type !== 'BOOKMARK') onWatchEvent?.(event.type, event.object);
        this.#watchedVersion = version;
        this.#advance(version);
      }
    } catch (error) {
      if (watchdog.aborted && !this.#stop.signal.aborted) return;
      throw error;
    }
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

  /** Versions only go back if the cluster was restored from a backup: nothing from before counts then. */
  #forget(version: bigint): void {
    for (const key of this.#entries.keys()) this.#remove(key);
    this.#version = version;
    this.#watchedVersion = null;
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
