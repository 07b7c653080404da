/** A part of a collection that is listed by itself: a namespace, or one object in it. */
export interface Part {
  namespace: string;
  name?: string | undefined;
}

/** The keys of a part are this, or begin with it. */
export const scopeOf = ({ namespace, name }: Part): string => (name === undefined ? namespace : `${namespace}/${name}`);

/** More parts than this that the watch has not passed yet are unlikely: those that it has passed are then forgotten. */
const MANY = 1_000;

/** The versions at which parts of a collection were listed, by their scopes. */
export class ListedParts {
  readonly #versions = new Map<string, bigint>();

  /** `all`: what is known of the whole collection. */
  listed(part: Part, version: bigint, all: bigint): void {
    if (this.#versions.size >= MANY)
      for (const [scope, at] of this.#versions) if (at <= all) this.#versions.delete(scope);
    const scope = scopeOf(part);
    if (version > (this.#versions.get(scope) ?? -1n)) this.#versions.set(scope, version);
  }

  /** Returns at which version a part was last listed, with its namespace or by itself; -1 if never. */
  at({ namespace, name }: Part): bigint {
    const at = this.#versions.get(namespace) ?? -1n;
    const ofName = (name === undefined ? undefined : this.#versions.get(scopeOf({ namespace, name }))) ?? -1n;
    return ofName > at ? ofName : at;
  }

  /** Returns the newest version at which anything in a namespace, or in any, was listed. */
  newestIn(namespace: string | undefined): bigint {
    let newest = -1n;
    for (const [scope, at] of this.#versions)
      if (at > newest && (namespace === undefined || `${scope}/`.startsWith(`${namespace}/`))) newest = at;
    return newest;
  }

  clear(): void {
    this.#versions.clear();
  }
}
