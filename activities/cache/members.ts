import { OwnerIndex } from './owner-index.ts';

/** VMs, or VMIs, by what controls them. */
export class Members<V extends { namespace: string; name: string }> {
  readonly #byOwner: OwnerIndex<V>;
  readonly #uncontrolled: OwnerIndex<V>;

  /** `controllerOf` returns null for one that no controller owns, undefined for one that can be nobody's member. */
  constructor(controllerOf: (view: V) => { uid: string } | null | undefined) {
    this.#byOwner = new OwnerIndex((view) => controllerOf(view)?.uid ?? null);
    this.#uncontrolled = new OwnerIndex((view) => (controllerOf(view) === null ? view.namespace : null));
  }

  /** Returns those that the pool or set with this UID owns. */
  ownedBy(uid: string): V[] {
    return this.#byOwner.of(uid);
  }

  /** Returns those of a namespace that no controller owns. */
  uncontrolledIn(namespace: string): V[] {
    return this.#uncontrolled.of(namespace);
  }

  change(before: V | undefined, after: V | undefined): void {
    this.#byOwner.change(before, after);
    this.#uncontrolled.change(before, after);
  }
}
