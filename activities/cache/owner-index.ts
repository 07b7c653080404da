/** Objects by the UID of their owner. An owner's objects are in one namespace, so a name identifies each of them. */
export class OwnerIndex<V extends { name: string }> {
  readonly #ownerOf: (view: V) => string | null;
  readonly #byOwner = new Map<string, Map<string, V>>();

  constructor(ownerOf: (view: V) => string | null) {
    this.#ownerOf = ownerOf;
  }

  of(owner: string): V[] {
    return [...(this.#byOwner.get(owner)?.values() ?? [])];
  }

  change(before: V | undefined, after: V | undefined): void {
    const former = before && this.#ownerOf(before);
    const owner = after && this.#ownerOf(after);
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
}
