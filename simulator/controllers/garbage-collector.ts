import type { OwnerReference, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { collectGarbage, FOREGROUND, ORPHAN } from '../store/garbage.ts';
import type { OwnedKinds } from '../store/owned-kinds.ts';
import { OwnerGraph, type Tracked } from '../store/owner-graph.ts';

/**
 * Simulates Kubernetes' garbage collector, which is part of kube-controller-manager and so doesn't run here. Deletes
 * the dependents of deleted owners, and does what the finalizers `orphan` and `foregroundDeletion` stand for.
 */
export class GarbageCollector extends Controller {
  readonly #kinds: OwnedKinds;
  readonly #graph = new OwnerGraph();

  constructor(cluster: Cluster, kinds: OwnedKinds, concurrency: number) {
    super(cluster, 'garbage collection of', concurrency);
    this.#kinds = kinds;
    kinds.subscribe((before, after) => this.#observe(before, after));
  }

  protected override nameOf(uid: string): string {
    return this.#graph.get(uid)?.name ?? uid;
  }

  #observe(before: Tracked | undefined, after: Tracked | undefined): void {
    if (before !== undefined && before.uid !== after?.uid) this.#forget(before);
    if (after === undefined) return;
    this.#graph.put(after);
    const isBlocked = after.deleting && (after.finalizers.includes(ORPHAN) || after.finalizers.includes(FOREGROUND));
    if (isBlocked || (!after.deleting && after.owners.some(({ uid }) => this.#graph.get(uid) === undefined)))
      this.queue.add(after.uid);
  }

  #forget(object: Tracked): void {
    const dependents = this.#graph.dependentsOf(object.uid);
    this.#graph.remove(object.uid);
    for (const { uid } of dependents) this.queue.add(uid);
    for (const { uid } of object.owners) if (this.#graph.get(uid)?.deleting) this.queue.add(uid);
  }

  protected async reconcile(uid: string): Promise<undefined> {
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
          await ignoreNotFound(
            this.#setOwners(
              dependent,
              dependent.owners.filter((owner) => owner.uid !== uid),
            ),
          );
        }
        return this.#removeFinalizer(object, ORPHAN);
      case 'foreground':
        for (const dependent of collection.remove)
          await ignoreNotFound(this.#delete(dependent, this.#policyBelow(dependent)));
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
    const key = { namespace: resource.namespaced ? namespace : undefined, name: owner.name };
    const found = await ignoreNotFound(this.cluster.client.get(resource, key));
    return found?.metadata.uid !== owner.uid;
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
    await this.cluster.client.delete(
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
    await this.cluster.client.patch(resource, key, 'merge', { metadata });
  }
}
