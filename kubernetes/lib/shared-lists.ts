/**
 * Lists that many ask for, each by its scope: one in flight may be older than what the caller has seen, so that all who
 * ask meanwhile share the next one.
 */
export class SharedLists {
  readonly #current = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  ask(scope: string, list: () => Promise<void>): Promise<void> {
    const asked = this.#next.get(scope);
    if (asked !== undefined) return asked;
    const next = Promise.resolve(this.#current.get(scope)).then(() => {
      this.#next.delete(scope);
      const listed = list();
      const ended = listed
        .catch(() => {})
        .then(() => void (this.#current.get(scope) === ended && this.#current.delete(scope)));
      this.#current.set(scope, ended);
      return listed;
    });
    this.#next.set(scope, next);
    return next;
  }
}
