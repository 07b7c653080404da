import type { KubeList, KubeObject } from '../../api/objects.ts';
import { Namespaces, pathOf, Pods, type Resource } from '../../api/resources.ts';
import { ignoreNotFound, isNotFound, KubeError } from '../../kubernetes/errors.ts';
import { isDeleting } from '../objects/vmi.ts';
import type { Cluster } from '../store/cluster.ts';
import { Store } from '../store/store.ts';
import { WorkQueue } from '../store/work-queue.ts';

interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
}

interface ResourceList {
  resources: { name: string; kind: string; namespaced: boolean; verbs: string[] | null }[];
}

const AGAIN_MS = 500;

/**
 * Simulates Kubernetes' namespace controller, which doesn't run here either: empties a deleted namespace, its pods
 * before all else, and finalizes it once nothing remains.
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
    const resources = await this.#namespacedResources();
    const [pods, others] = [resources.filter(isPods), resources.filter((resource) => !isPods(resource))];
    if (!(await this.#empty(pods, name)) || !(await this.#empty(others, name))) return AGAIN_MS;
    const { apiVersion = 'v1', kind = 'Namespace', metadata } = namespace;
    const body = {
      apiVersion,
      kind,
      metadata: { name, uid: metadata.uid },
      spec: { ...namespace.spec, finalizers: [] },
    };
    const path = pathOf(Namespaces, undefined, name, 'finalize');
    await ignoreNotFound(this.#cluster.client.request({ method: 'PUT', path, body }));
    return undefined;
  }

  /**
   * Deletes all objects of these kinds in the namespace. Reports whether none remain. A kind that fails holds up no
   * other.
   */
  async #empty(resources: readonly Resource[], namespace: string): Promise<boolean> {
    const emptied = await Promise.allSettled(resources.map((resource) => this.#isEmptied(resource, namespace)));
    const failed = emptied.find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    return emptied.every((one) => one.status === 'fulfilled' && one.value);
  }

  /** Deletes all objects of a kind in the namespace. Reports whether none remain. */
  async #isEmptied(resource: Resource, namespace: string): Promise<boolean> {
    const { client } = this.#cluster;
    const path = pathOf(resource, namespace);
    const isEmpty = async (): Promise<boolean> =>
      (await client.request<KubeList>({ method: 'GET', path: `${path}?limit=1` })).items.length === 0;
    try {
      if (await isEmpty()) return true;
      await client.request({ method: 'DELETE', path, body: { propagationPolicy: 'Background' } });
      return await isEmpty();
    } catch (error) {
      // The kind may have been removed since discovery, or not allow this.
      if (isNotFound(error) || (error instanceof KubeError && error.status === 405)) return true;
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

const isPods = ({ group, plural }: Resource): boolean => group === Pods.group && plural === Pods.plural;
