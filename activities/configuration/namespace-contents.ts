import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../api/objects.ts';
import type { Contents } from '../../decisions/configuration/older-content.ts';
import { contentView, type ContentView } from '../../decisions/from-object/content.ts';
import { scatter } from '../../decisions/lib/scatter.ts';
import type { Content } from '../../decisions/template/content.ts';
import { REFERENCE_RESOURCES, type OwnReference } from '../../decisions/template/references.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { ListWatch, type ListWatchOptions } from '../../kubernetes/list-watch.ts';
import { firstSeen, judged, type Known } from './judged-content.ts';

type Kind = OwnReference['kind'];
const KINDS = Object.keys(REFERENCE_RESOURCES) as Kind[];

export interface NamespaceContentsOptions extends Pick<
  ListWatchOptions<KubeObject, ContentView>,
  'client' | 'relistMs' | 'onMissed'
> {
  namespace: string;
  onError?: (resource: string, error: Error) => void;
  /** Whether a pool restarts its VMs when the content of this changes: nothing else is read. */
  isNeeded: (reference: OwnReference) => boolean;
  /** Called when more is known of this Secret or ConfigMap; undefined: of any. */
  onChange: (reference?: OwnReference) => void;
}

/** How many objects are read at a time. */
const CONCURRENCY = 4;
/** Tries to compare an object with what it was, while the API server does not answer. */
const TRIES = 6;

/** Follows the Secrets and ConfigMaps of one namespace, by their metadata. */
export class NamespaceContents {
  readonly #options: NamespaceContentsOptions;
  readonly #watches: readonly KindWatch[];
  readonly #stop = new AbortController();

  constructor(options: NamespaceContentsOptions) {
    this.#options = options;
    this.#watches = KINDS.map((kind) => new KindWatch(kind, options, this.#stop.signal));
  }

  /** Resolves once everything is known, or it is known that it can't be. */
  async start(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.start()));
    this.#options.onChange();
  }

  /** As `ListWatch.restart`. */
  restart(): void {
    for (const { list } of this.#watches) list.restart();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#watches.map((watch) => watch.stop()));
  }

  /** Null as long as not everything is known. */
  get contents(): Contents | null {
    const forbidden = this.#watches.filter(({ isForbidden }) => isForbidden);
    if (forbidden.length > 0)
      return { forbidden: forbidden.map(({ kind }) => REFERENCE_RESOURCES[kind].plural).join(' and ') };
    if (!this.#watches.every(({ list }) => list.synced)) return null;
    return { of: ({ kind, name }) => this.#watches.find((watch) => watch.kind === kind)!.find(name) };
  }
}

/** Follows the Secrets, or the ConfigMaps, of one namespace. */
class KindWatch {
  readonly kind: Kind;
  readonly list: ListWatch<KubeObject, ContentView>;
  readonly #options: NamespaceContentsOptions;
  readonly #signal: AbortSignal;
  /** By name. A version that is not judged yet does not count. */
  readonly #known = new Map<string, Known>();
  /** What was deleted, and the last version of the cluster that had it: it may come back as it was. */
  readonly #gone = new Map<string, { known: Known; lastAsOf: bigint }>();
  readonly #slots: Promise<void>[] = Array.from({ length: CONCURRENCY }, () => Promise.resolve());
  readonly #refused = Promise.withResolvers<void>();
  /** The last that the API server has said is that the worker may not follow. */
  isForbidden = false;

  constructor(kind: Kind, options: NamespaceContentsOptions, signal: AbortSignal) {
    const { client, namespace, relistMs, onMissed } = options;
    this.kind = kind;
    this.#options = options;
    this.#signal = signal;
    this.list = new ListWatch<KubeObject, ContentView>({
      client,
      resource: REFERENCE_RESOURCES[kind],
      namespace,
      metadataOnly: true,
      ...(relistMs === undefined ? {} : { relistMs }),
      ...(onMissed === undefined ? {} : { onMissed }),
      view: contentView,
      onChange: (_key, before, after) => this.#changed(before, after),
      onOpen: () => this.#setForbidden(false),
      onError: (error) => this.#failed(error),
    });
  }

  async start(): Promise<void> {
    await Promise.race([this.list.start().ready(), this.#refused.promise]);
  }

  async stop(): Promise<void> {
    await this.list.stop();
    await Promise.all(this.#slots);
  }

  find(name: string): Content | undefined {
    return this.#known.get(name)?.content;
  }

  #failed(error: Error): void {
    const isForbidden = error instanceof KubeError && error.status === 403;
    if (!isForbidden) return this.#options.onError?.(REFERENCE_RESOURCES[this.kind].plural, error);
    this.#refused.resolve();
    this.#setForbidden(true);
  }

  #setForbidden(isForbidden: boolean): void {
    if (this.isForbidden === isForbidden) return;
    this.isForbidden = isForbidden;
    this.#options.onChange();
  }

  #changed(before: ContentView | undefined, after: ContentView | undefined): void {
    const { name } = (after ?? before)!;
    const { version: reached } = this.list;
    const reference = { kind: this.kind, name };
    // The last version of the cluster that had what was there before.
    const lastAsOf = (after?.version ?? reached) - 1n;
    const isFirst = !this.#known.has(name) && !this.#gone.has(name);
    if (isFirst && after !== undefined) {
      this.#known.set(name, firstSeen(reference, after));
      if (this.list.synced) this.#options.onChange(reference);
      return;
    }
    const slot = scatter(name) % CONCURRENCY;
    this.#slots[slot] = this.#slots[slot]!.then(() => this.#update(reference, after, lastAsOf));
  }

  /** Takes the versions of an object one after the other. */
  async #update(reference: OwnReference, after: ContentView | undefined, lastAsOf: bigint): Promise<void> {
    const { name } = reference;
    const present = this.#known.get(name);
    if (after === undefined) {
      this.#known.delete(name);
      if (present !== undefined && this.#options.isNeeded(reference))
        this.#gone.set(name, { known: present, lastAsOf });
      return this.#options.onChange(reference);
    }
    const gone = this.#gone.get(name);
    const known = present ?? gone?.known;
    if (known === undefined) this.#known.set(name, firstSeen(reference, after));
    else this.#known.set(name, await this.#judge(known, after, gone?.lastAsOf ?? lastAsOf));
    this.#gone.delete(name);
    this.#options.onChange(reference);
  }

  /** What can't be found out counts as changed: a restart too many does less harm than old content. */
  async #judge(known: Known, after: ContentView, lastAsOf: bigint): Promise<Known> {
    const changed = firstSeen(known.content, after);
    if (!this.#options.isNeeded(known.content)) return changed;
    for (let tried = 1; tried <= TRIES && !this.#signal.aborted; tried++) {
      try {
        return await judged(this.#options.client, known, after, lastAsOf, Date.now());
      } catch (error) {
        this.#options.onError?.(REFERENCE_RESOURCES[this.kind].plural, error as Error);
        await sleep(1_000 * tried, undefined, { signal: this.#signal }).catch(() => {});
      }
    }
    return changed;
  }
}
