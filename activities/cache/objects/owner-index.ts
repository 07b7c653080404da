/** Objects by their namespace and by what they belong to in it. */
export class OwnerIndex<V extends { namespace: string; name: string }> {
  readonly #ownerOf: (view: V) => string | null;
  readonly #byOwner = new Map<string, Map<string, V>>();

  /** `ownerOf`: returns what the object belongs to within its namespace; null if it is not in this index. */
  constructor(ownerOf: (view: V) => string | null) {
    this.#ownerOf = ownerOf;
  }

  /** Returns the objects of the namespace that belong to this owner, in no particular order. */
  of(namespace: string, owner: string): V[] {
    return [...(this.#byOwner.get(keyOf(namespace, owner))?.values() ?? [])];
  }

  change(before: V | undefined, after: V | undefined): void {
    const former = before && this.#keyOf(before);
    const owner = after && this.#keyOf(after);
    if (before && former && former !== owner) {
      const siblings = this.#byOwner.get(former);
      siblings?.delete(before.name);
      if (siblings?.size === 0) this.#byOwner.delete(former);
    }
    if (!after || !owner) return;
    const siblings = this.#byOwner.get(owner) ?? new Map<string, V>();
    siblings.set(after.name, after);
    this.#byOwner.set(owner, siblings);
  }

  #keyOf(view: V): string | null {
    const owner = this.#ownerOf(view);
    return owner === null ? null : keyOf(view.namespace, owner);
  }
}

const keyOf = (namespace: string, owner: string): string => `${namespace}/${owner}`;
