import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeList, KubeObject, Stored } from '../api/objects.ts';
import type { Resource } from '../api/resources.ts';
import type { KubeClient } from './client.ts';
import { isGone, KubeError } from './errors.ts';
import { Outage } from './lib/outage.ts';
import { scopeOf, type Part } from './lib/parts.ts';
import { RefusedKind, type Missing } from './lib/refused-kind.ts';
import { SharedLists } from './lib/shared-lists.ts';
import { VersionedStore, type VersionedStoreOptions } from './versioned-store.ts';

export interface ListWatchOptions<T extends KubeObject, V> extends VersionedStoreOptions<T, V> {
  client: KubeClient;
  resource: Resource;
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  /** Whether objects come with their metadata alone. */
  metadataOnly?: boolean;
  /** Called for each watch event, in order, even if a relist has already delivered the change. */
  onWatchEvent?: (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Stored<T>) => void;
  /** Called when the watch begins at `version`: it has not reported earlier changes. */
  onGap?: (version: bigint) => void;
  /** Called when the server has begun to answer a watch. */
  onOpen?: () => void;
  /** Called when a watch broke, which is started again, and when an object can't be read. */
  onError?: (error: Error) => void;
  /** Called when a relist found this many changes that no watch event had reported. */
  onMissed?: (count: number) => void;
  relistMs?: number;
  /** For how long what was there once counts as late before it is missing. */
  lateMs?: number;
  /** Whether there is something to do without this collection: what the API server won't list is then `missing`. */
  isOptional?: boolean;
  /** Called when that is so, and with null when it is listed after all. */
  onMissing?: (message: Missing | null) => void;
}

const FIRST_DELAY_MS = 250;
const LAST_DELAY_MS = 5_000;
/** A list that expires (410) this soon would do so again: the next one waits. */
const FRESH_MS = 1_000;
/** A watch that ends sooner than this without an event is a fault, for instance of a proxy without a backend. */
const SHORT_MS = 1_000;
const WATCH_SECONDS = { least: 240, more: 60 };
const WATCHDOG_SLACK_MS = 15_000;
/** How seldom at most what is missing is asked for again. */
const MISSING_MS = 30_000;
/** A watch that follows reports a change within this time. */
const LEAST_WAIT_MS = 100;
/** Each is a number that a workflow carries: more are forgotten, and asked for once more. */
const MOST_LOST_VERSIONS = 10_000;

/**
 * A copy of a collection that follows the API server until it is stopped.
 *
 * client-node's informer ends for good on the first error other than 410, never lists in pages and never relists
 * (2.0.1); this one backs off and retries forever, ends a silent watch by its own clock, and relists every `relistMs`
 * to find what a watch has missed.
 */
export class ListWatch<T extends KubeObject, V> extends VersionedStore<T, V> {
  readonly #options: ListWatchOptions<T, V>;
  readonly #stop = new AbortController();
  readonly #firstList = Promise.withResolvers<void>();
  /**
   * The watch has reported every change up to this version; a list only shows the current state, not what happened in
   * between. Null until the watch begins.
   */
  #watchedVersion: bigint | null = null;
  /** Ends the watch in progress. */
  #endWatch = new AbortController();
  /** When the last list of the loop was through, by the process's clock. */
  #listedAt = -Infinity;
  /** How long the last list has taken. */
  #listMs = 0;
  /** Versions that were asked for, and that the API server does not have: they are from before a restore. */
  readonly #lostVersions = new Set<bigint>();
  #missing: Missing | null = null;
  readonly #refused: RefusedKind;
  readonly #outage = new Outage();
  /** How long to wait after the next failure. */
  #delay = FIRST_DELAY_MS;
  #running: Promise<void> | undefined;
  readonly #lists = new SharedLists();

  constructor(options: ListWatchOptions<T, V>) {
    super(options);
    this.#options = options;
    this.#refused = new RefusedKind(options.lateMs);
  }

  start(): this {
    this.#running ??= this.#run();
    return this;
  }

  /** Why there is nothing to know; null if there is. It then stays empty, and counts as known. */
  get missing(): Missing | null {
    return this.#missing;
  }

  /** Resolves once the first list is in the cache, or it is `missing`. */
  ready(): Promise<void> {
    return this.#firstList.promise;
  }

  /** For how long this has failed to follow the API server, in milliseconds; 0 if it follows. */
  get behindMs(): number {
    return this.#outage.ms;
  }

  /**
   * Lists all or a part now, for readers that cannot wait for the watch to catch up. A part needs the rest to be known.
   */
  relist(part?: Part): Promise<void> {
    const isAll = part === undefined || !this.synced || this.#options.namespace !== undefined;
    return this.#lists.ask(isAll ? '' : scopeOf(part), () => (isAll ? this.#list() : this.#listPart(part)));
  }

  /**
   * Makes sure that what is read next is not older than `version`: waits this long for the watch, and then lists. A
   * version that the API server does not have is from before a restore, and is asked for in vain only once.
   */
  async catchUp(version: bigint, timeoutMs: number, part?: Part): Promise<void> {
    if (this.#missing !== null || (this.synced && this.#lostVersions.has(version))) return;
    if (await this.reached(version, timeoutMs, part)) return;
    await this.relist(part);
    if (this.hasReached(version, part)) return;
    if (this.#lostVersions.size >= MOST_LOST_VERSIONS) this.#lostVersions.clear();
    this.#lostVersions.add(version);
  }

  /**
   * The same for a version of another collection: perhaps nothing has changed here since then, so that no event will
   * show it. This waits for one no longer than a list would take.
   */
  catchUpWithOther(version: bigint, timeoutMs: number, part?: Part): Promise<void> {
    return this.catchUp(version, Math.min(Math.max(this.#listMs, LEAST_WAIT_MS), timeoutMs), part);
  }

  /** Begins anew, because the API server was restored: nothing counts as known until all has been listed again. */
  restart(): void {
    this.distrust();
    this.#stopWatching();
  }

  /** Continues the watch over another connection: the present one may be dead, and thus silent. */
  reconnect(): void {
    this.#endWatch.abort();
  }

  /** A watch from a version that the API server does not have yet would be silent until it has. */
  #stopWatching(): void {
    this.#watchedVersion = null;
    this.#endWatch.abort();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#firstList.promise.catch(() => {});
    await this.#running;
  }

  async #run(): Promise<void> {
    const { relistMs = 600_000 } = this.#options;
    while (!this.#stop.signal.aborted) {
      let isListing = !this.synced || performance.now() - this.#listedAt >= relistMs;
      try {
        if (isListing) await this.relist();
        if (isListing) this.#listedAt = performance.now();
        isListing = false;
        await this.#watchLong();
      } catch (error) {
        if (!this.#stop.signal.aborted) await this.#failed(error as Error, isListing);
      }
    }
  }

  async #watchLong(): Promise<void> {
    const began = performance.now();
    let hasEvents = false;
    await this.#watch(() => {
      hasEvents = true;
      this.#delay = FIRST_DELAY_MS;
    });
    if (!hasEvents && !this.#endWatch.signal.aborted && performance.now() - began < SHORT_MS)
      throw new Error('the watch ended as soon as it had begun');
  }

  /** Waits before the next attempt, unless that may succeed at once. */
  async #failed(error: Error, wasListing: boolean): Promise<void> {
    if (this.#isMissing(error)) return this.#pause(1, MISSING_MS);
    // A list that expires before its last page would do so again.
    if (isGone(error) && !wasListing && this.#mayContinue()) return;
    this.#outage.failed();
    this.#options.onError?.(error);
    await this.#pause(0.75 + Math.random() / 2, LAST_DELAY_MS);
  }

  /** After the watch has expired: true if a list has succeeded since, from which it continues, or is worth a try. */
  #mayContinue(): boolean {
    const isBehind = this.#watchedVersion !== null && this.#watchedVersion < this.version;
    this.#watchedVersion = null;
    if (isBehind) return true;
    const justListed = performance.now() - this.#listedAt < FRESH_MS;
    this.#listedAt = -Infinity;
    return !justListed;
  }

  async #pause(factor: number, longestMs: number): Promise<void> {
    await sleep(this.#delay * factor, undefined, { signal: this.#stop.signal }).catch(() => {});
    this.#delay = Math.min(this.#delay * 2, longestMs);
  }

  async #list(): Promise<void> {
    const began = performance.now();
    const missed = await this.applyList(this.#pages(), () => this.#stopWatching());
    this.#listMs = performance.now() - began;
    if (missed > 0) this.#options.onMissed?.(missed);
    this.#refused.listed();
    this.#setMissing(null);
    this.#firstList.resolve();
  }

  async #listPart(part: Part): Promise<void> {
    await this.applyList(this.#pages(part), () => this.#stopWatching(), part);
    // The API server was restored: the rest is in doubt as well.
    if (!this.synced) await this.relist();
  }

  #pages(part?: Part): AsyncIterable<KubeList<T>> {
    const { client, resource, namespace = part?.namespace, labelSelector, metadataOnly = false } = this.#options;
    const common = { namespace, labelSelector, metadataOnly, signal: this.#stop.signal };
    return client.pages<T>(resource, part?.name ? { ...common, fieldSelector: `metadata.name=${part.name}` } : common);
  }

  #isMissing(error: unknown): boolean {
    const { isOptional = false } = this.#options;
    const status = error instanceof KubeError ? error.status : undefined;
    const why = isOptional ? this.#refused.whyMissing(status) : null;
    if (why === null) return false;
    if (this.#missing === null) {
      this.#outage.end();
      this.forget();
    }
    this.#setMissing(why);
    this.#firstList.resolve();
    return true;
  }

  #setMissing(message: Missing | null): void {
    if (message === this.#missing) return;
    this.#missing = message;
    this.#options.onMissing?.(message);
  }

  async #watch(onProgress: () => void): Promise<void> {
    const { client, resource, namespace, labelSelector, relistMs = 600_000, onWatchEvent, onGap } = this.#options;
    const { metadataOnly = false, onOpen } = this.#options;
    if (this.#watchedVersion === null) {
      this.#watchedVersion = this.version;
      onGap?.(this.#watchedVersion);
    }
    const seconds = Math.ceil(Math.min(WATCH_SECONDS.least + Math.random() * WATCH_SECONDS.more, relistMs / 1000));
    const watchdog = AbortSignal.timeout(seconds * 1000 + WATCHDOG_SLACK_MS);
    const ended = (this.#endWatch = new AbortController()).signal;
    const events = client.watch<T>(resource, {
      namespace,
      metadataOnly,
      query: {
        resourceVersion: String(this.#watchedVersion),
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(seconds),
        ...(labelSelector === undefined ? {} : { labelSelector }),
      },
      signal: AbortSignal.any([this.#stop.signal, watchdog, ended]),
      onOpen: () => {
        this.#outage.end();
        onOpen?.();
      },
    });
    try {
      for await (const event of events) {
        // What still comes is from before a restore, or comes again.
        if (ended.aborted) return;
        if (event.type === 'ERROR') {
          const { code, reason = String(code), message } = event.object;
          throw new KubeError(code, reason, message ?? `the watch of ${resource.plural} failed with ${code}`);
        }
        this.#outage.end();
        onProgress();
        this.applyEvent(event);
        if (event.type !== 'BOOKMARK' && this.isKept(event.object)) onWatchEvent?.(event.type, event.object);
        this.#watchedVersion = BigInt(event.object.metadata.resourceVersion);
      }
    } catch (error) {
      if ((watchdog.aborted || ended.aborted) && !this.#stop.signal.aborted) return;
      throw error;
    }
  }
}
