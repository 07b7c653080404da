import type { OwnerReference, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { Cluster } from '../store/cluster.ts';
import { collectGarbage, FOREGROUND, ORPHAN } from '../store/garbage.ts';
import type { OwnedKinds } from '../store/owned-kinds.ts';
import { OwnerGraph, type Tracked } from '../store/owner-graph.ts';
import { WorkQueue } from '../store/work-queue.ts';

/**
 * Simulates Kubernetes' garbage collector, which is part of kube-controller-manager and so doesn't run here. Deletes
 * the dependents of deleted owners, and does what the finalizers `orphan` and `foregroundDeletion` stand for.
 */
export class GarbageCollector {
  readonly #cluster: Cluster;
  readonly #kinds: OwnedKinds;
  readonly #graph = new OwnerGraph();
  readonly #queue: WorkQueue;

  constructor(cluster: Cluster, kinds: OwnedKinds, concurrency: number) {
    this.#cluster = cluster;
    this.#kinds = kinds;
    this.#queue = new WorkQueue({
      concurrency,
      work: (uid) => this.#reconcile(uid),
      onError: (uid, error) =>
        cluster.log.warn(`garbage collection of ${this.#graph.get(uid)?.name ?? uid}: ${error.message}`),
    });
    kinds.subscribe((before, after) => this.#observe(before, after));
  }

  start(): void {
    this.#queue.start();
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #observe(before: Tracked | undefined, after: Tracked | undefined): void {
    if (before !== undefined && before.uid !== after?.uid) this.#forget(before);
    if (after === undefined) return;
    this.#graph.put(after);
    const held = after.deleting && (after.finalizers.includes(ORPHAN) || after.finalizers.includes(FOREGROUND));
    if (held || (!after.deleting && after.owners.some(({ uid }) => this.#graph.get(uid) === undefined)))
      this.#queue.add(after.uid);
  }

  #forget(object: Tracked): void {
    const dependents = this.#graph.dependentsOf(object.uid);
    this.#graph.remove(object.uid);
    for (const { uid } of dependents) this.#queue.add(uid);
    for (const { uid } of object.owners) if (this.#graph.get(uid)?.deleting) this.#queue.add(uid);
  }

  async #reconcile(uid: string): Promise<undefined> {
    const object = this.#graph.get(uid);
    if (object === undefined) return;
    const gone = object.deleting ? new Set<string>() : await this.#goneOwners(object);
    const dependents = this.#graph.dependentsOf(uid);
    const collection = collectGarbage(object, dependents, gone);
    switch (collection.do) {
      case 'nothing':
        return;
      case 'delete':
        return this.#delete(object, 'Background', object.resourceVersion);
      case 'disown':
        return this.#setOwners(object, collection.keep);
      case 'orphan':
        for (const dependent of dependents) {
          await unlessGone(
            this.#setOwners(
              dependent,
              dependent.owners.filter((owner) => owner.uid !== uid),
            ),
          );
        }
        return this.#removeFinalizer(object, ORPHAN);
      case 'foreground':
        for (const dependent of collection.remove)
          await unlessGone(this.#delete(dependent, this.#policyBelow(dependent)));
        if (collection.waitFor === 0) await this.#removeFinalizer(object, FOREGROUND);
    }
  }

  /** Returns the UIDs of owners that no longer exist. Asks the API server, because the watches may lag. */
  async #goneOwners(object: Tracked): Promise<Set<string>> {
    const gone = new Set<string>();
    for (const owner of object.owners) {
      if (this.#graph.get(owner.uid) === undefined && (await this.#isGone(owner, object.namespace)))
        gone.add(owner.uid);
    }
    return gone;
  }

  async #isGone(owner: OwnerReference, namespace: string | undefined): Promise<boolean> {
    const resource = this.#kinds.find(owner);
    if (resource === undefined) return false;
    try {
      const found = await this.#cluster.client.get(resource, {
        namespace: resource.namespaced ? namespace : undefined,
        name: owner.name,
      });
      return found.metadata.uid !== owner.uid;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  /** Foreground deletion of an owner also waits for the dependents of its dependents. */
  #policyBelow({ uid }: Tracked): 'Foreground' | 'Background' {
    return this.#graph.dependentsOf(uid).length > 0 ? 'Foreground' : 'Background';
  }

  /** `resourceVersion` is a precondition: owner references of the object may have been removed since. */
  async #delete(
    { resource, namespace, name, uid }: Tracked,
    propagationPolicy: 'Foreground' | 'Background',
    resourceVersion?: string,
  ): Promise<undefined> {
    await this.#cluster.client.delete(
      resource,
      { namespace, name },
      { uid, propagationPolicy, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    );
  }

  async #setOwners(
    { resource, namespace, name, resourceVersion }: Tracked,
    ownerReferences: readonly OwnerReference[],
  ): Promise<undefined> {
    await this.#patch(resource, { namespace, name }, { resourceVersion, ownerReferences });
  }

  async #removeFinalizer(
    { resource, namespace, name, resourceVersion, finalizers }: Tracked,
    finalizer: string,
  ): Promise<undefined> {
    await this.#patch(
      resource,
      { namespace, name },
      { resourceVersion, finalizers: finalizers.filter((other) => other !== finalizer) },
    );
  }

  async #patch(
    resource: Resource,
    key: { namespace: string | undefined; name: string },
    metadata: Partial<Stored['metadata']> | object,
  ): Promise<void> {
    await this.#cluster.client.patch(resource, key, 'merge', { metadata });
  }
}

async function unlessGone(call: Promise<undefined>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
