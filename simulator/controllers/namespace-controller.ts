import type { KubeList, KubeObject } from '../../api/objects.ts';
import { Namespaces, pathOf, type Resource } from '../../api/resources.ts';
import { isNotFound, KubeError } from '../../kubernetes/errors.ts';
import type { Cluster } from '../store/cluster.ts';
import { Store } from '../store/store.ts';
import { WorkQueue } from '../store/work-queue.ts';
import { isDeleting } from '../vmi/vmi.ts';

interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
}

interface ResourceList {
  resources: { name: string; kind: string; namespaced: boolean; verbs: string[] | null }[];
}

const AGAIN_MS = 500;

/**
 * Simulates Kubernetes' namespace controller, which doesn't run here either: empties a deleted namespace, then
 * finalizes it.
 */
export class NamespaceController {
  readonly #cluster: Cluster;
  readonly #namespaces: Store<Namespace>;
  readonly #queue: WorkQueue;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#namespaces = new Store<Namespace>(cluster.client, Namespaces, (error) =>
      cluster.log.warn(`the watch of namespaces broke: ${error.message}`),
    );
    this.#queue = new WorkQueue({
      concurrency: 4,
      work: (name) => this.#reconcile(name),
      onError: (name, error) => cluster.log.warn(`Namespace ${name}: ${error.message}`),
    });
    this.#namespaces.subscribe((name, _before, after) => {
      if (after !== undefined && isDeleting(after)) this.#queue.add(name);
    });
  }

  async start(): Promise<void> {
    await this.#namespaces.start();
    this.#queue.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#queue.stop(), this.#namespaces.stop()]);
  }

  async #reconcile(name: string): Promise<number | undefined> {
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined || !isDeleting(namespace)) return undefined;
    const { client } = this.#cluster;
    let left = 0;
    for (const resource of await this.#namespacedResources()) left += await this.#empty(resource, name);
    if (left > 0) return AGAIN_MS;
    const { apiVersion = 'v1', kind = 'Namespace', metadata } = namespace;
    const body = { apiVersion, kind, metadata, spec: { ...namespace.spec, finalizers: [] } };
    await client.request({ method: 'PUT', path: pathOf(Namespaces, undefined, name, 'finalize'), body });
    return undefined;
  }

  /** Deletes all objects of a kind in the namespace. Returns 1 if any are left, else 0. */
  async #empty(resource: Resource, namespace: string): Promise<number> {
    const { client } = this.#cluster;
    const path = pathOf(resource, namespace);
    try {
      const count = async (): Promise<number> =>
        (await client.request<KubeList>({ method: 'GET', path: `${path}?limit=1` })).items.length;
      if ((await count()) === 0) return 0;
      await client.request({ method: 'DELETE', path });
      return await count();
    } catch (error) {
      // The kind may have been removed since discovery, or not allow this.
      if (isNotFound(error) || (error instanceof KubeError && error.status === 405)) return 0;
      throw error;
    }
  }

  async #namespacedResources(): Promise<Resource[]> {
    const { client } = this.#cluster;
    const { groups } = await client.request<{ groups: { name: string; preferredVersion: { version: string } }[] }>({
      method: 'GET',
      path: '/apis',
    });
    const versions = [
      { group: '', version: 'v1' },
      ...groups.map(({ name, preferredVersion }) => ({ group: name, version: preferredVersion.version })),
    ];
    const found = await Promise.all(versions.map((version) => this.#resourcesOf(version)));
    return found.flat();
  }

  async #resourcesOf({ group, version }: { group: string; version: string }): Promise<Resource[]> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    try {
      const { resources } = await this.#cluster.client.request<ResourceList>({ method: 'GET', path });
      return resources
        .filter(
          ({ name, namespaced, verbs }) =>
            namespaced && !name.includes('/') && verbs?.includes('list') && verbs.includes('deletecollection'),
        )
        .map(({ name, kind }) => ({ group, version, plural: name, kind, namespaced: true }));
    } catch (error) {
      // An unavailable aggregated API stores nothing in this cluster's etcd.
      if (error instanceof KubeError && (error.status === 404 || error.status === 503)) return [];
      throw error;
    }
  }
}
