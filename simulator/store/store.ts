import { withoutManagedFields, type KubeObject, type Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { namespacedName } from '../../kubernetes/versioned-store.ts';

type StoreListener<T extends KubeObject> = (
  key: string,
  before: Stored<T> | undefined,
  after: Stored<T> | undefined,
) => void;

/**
 * Caches the objects of a kind: what the watch shows, and what this process wrote since, so that it sees its own
 * writes.
 */
export class Store<T extends KubeObject> {
  readonly resource: Resource;
  readonly #watch: ListWatch<T, Stored<T>>;
  readonly #written = new Map<string, Stored<T>>();
  readonly #listeners: StoreListener<T>[] = [];

  constructor(client: KubeClient, resource: Resource, onError: (error: Error) => void) {
    this.resource = resource;
    this.#watch = new ListWatch<T, Stored<T>>({
      client,
      resource,
      view: withoutManagedFields,
      onError,
      onChange: (key, before, after) => {
        this.#forget(key, before, after);
        for (const listener of this.#listeners) listener(key, before, after);
      },
    });
  }

  subscribe(listener: StoreListener<T>): void {
    this.#listeners.push(listener);
  }

  async start(): Promise<void> {
    await this.#watch.start().ready();
  }

  stop(): Promise<void> {
    return this.#watch.stop();
  }

  get(key: string): Stored<T> | undefined {
    const shown = this.#watch.get(key);
    const written = this.#written.get(key);
    return written !== undefined && (shown === undefined || versionOf(written) > versionOf(shown)) ? written : shown;
  }

  *values(): Generator<Stored<T>> {
    for (const object of this.#watch.values()) yield this.get(namespacedName(object)) ?? object;
  }

  /**
   * Keeps the response of a write until the watch shows it. The response may arrive after that, or after the object is
   * deleted.
   */
  remember(object: Stored<T>): Stored<T> {
    const kept = withoutManagedFields(object);
    if (versionOf(kept) > this.#watch.version) this.#written.set(namespacedName(kept), kept);
    return kept;
  }

  #forget(key: string, before: Stored<T> | undefined, after: Stored<T> | undefined): void {
    const written = this.#written.get(key);
    if (written === undefined) return;
    const overtaken =
      after === undefined ? before?.metadata.uid === written.metadata.uid : versionOf(after) >= versionOf(written);
    if (overtaken) this.#written.delete(key);
  }
}

const versionOf = (object: Stored): bigint => BigInt(object.metadata.resourceVersion);
