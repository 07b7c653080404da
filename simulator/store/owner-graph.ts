import type { OwnerReference, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';

/** What garbage collection needs to know about an object. */
export interface Tracked {
  uid: string;
  resource: Resource;
  namespace: string | undefined;
  name: string;
  resourceVersion: string;
  deleting: boolean;
  finalizers: readonly string[];
  owners: readonly OwnerReference[];
}

const NONE: readonly never[] = [];

export function track(resource: Resource, { metadata }: Stored): Tracked {
  const { uid, namespace, name, resourceVersion, deletionTimestamp, finalizers, ownerReferences } = metadata;
  return {
    uid,
    resource,
    namespace,
    name,
    resourceVersion,
    deleting: deletionTimestamp !== undefined,
    finalizers: finalizers ?? NONE,
    owners: ownerReferences ?? NONE,
  };
}

/** Owners and their dependents, by UID. */
export class OwnerGraph {
  readonly #objects = new Map<string, Tracked>();
  readonly #dependents = new Map<string, Set<string>>();

  get(uid: string): Tracked | undefined {
    return this.#objects.get(uid);
  }

  dependentsOf(uid: string): Tracked[] {
    return [...(this.#dependents.get(uid) ?? NONE)].map((dependent) => this.#objects.get(dependent)!);
  }

  put(object: Tracked): void {
    this.remove(object.uid);
    this.#objects.set(object.uid, object);
    for (const { uid } of object.owners) {
      const dependents = this.#dependents.get(uid);
      if (dependents === undefined) this.#dependents.set(uid, new Set([object.uid]));
      else dependents.add(object.uid);
    }
  }

  remove(uid: string): void {
    for (const owner of this.#objects.get(uid)?.owners ?? NONE) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
    this.#objects.delete(uid);
  }
}
