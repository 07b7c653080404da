/** Objects by keys that they have in common, such as an owner or a node. */
export class ObjectIndex<V extends { namespace: string; name: string }> {
  readonly #keysOf: (view: V) => readonly string[];
  readonly #byKey = new Map<string, Map<string, V>>();

  /** `keysOf`: returns by which keys the object is found; none if it is not in this index. */
  constructor(keysOf: (view: V) => readonly string[]) {
    this.#keysOf = keysOf;
  }

  /** Returns the objects with this key, in no particular order. */
  of(key: string): V[] {
    return [...(this.#byKey.get(key)?.values() ?? [])];
  }

  change(before: V | undefined, after: V | undefined): void {
    const keys = after === undefined ? [] : this.#keysOf(after);
    if (before !== undefined)
      for (const key of this.#keysOf(before)) if (!keys.includes(key)) this.#remove(key, before);
    for (const key of keys) {
      const objects = this.#byKey.get(key) ?? new Map<string, V>();
      objects.set(nameOf(after!), after!);
      this.#byKey.set(key, objects);
    }
  }

  #remove(key: string, object: V): void {
    const objects = this.#byKey.get(key);
    objects?.delete(nameOf(object));
    if (objects?.size === 0) this.#byKey.delete(key);
  }
}

const nameOf = ({ namespace, name }: { namespace: string; name: string }): string => `${namespace}/${name}`;
