/** So many are begun with for each that may act at once: the claims of VMs that wait for long expire. */
export const BEGUN_FOR_EACH = 4;
/** Of all places, acts in one namespace take at most so many: a webhook may hold up all writes there. */
const OF_NAMESPACE = 3 / 4;

/**
 * Places for what all waves of a worker do at once. The wave that has waited longest has them first, until it has begun
 * with all it may: hundreds of pools that change at once are done one after the other. If each did one VM at a time,
 * all of them would be planned again for each of their VMs; and if nothing limited them, an act that has begun would
 * wait for each of its requests behind thousands of others.
 */
export class ActsOfWaves {
  readonly #most: number;
  #now = 0;
  readonly #inNamespaces = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether there is a place for an act in this namespace. */
  isFree(namespace: string): boolean {
    return this.#now < this.#most && this.#in(namespace) < this.#most * OF_NAMESPACE;
  }

  /** Calls `goOn` when there is a place, in the order in which waves have begun to wait, until `leave`. */
  wait(goOn: () => void): void {
    this.#waiting.add(goOn);
  }

  leave(goOn: () => void): void {
    this.#waiting.delete(goOn);
  }

  /** Takes a place, even if none is free. Returns what gives it back. */
  begin(namespace: string): () => void {
    this.#count(namespace, 1);
    return () => {
      this.#count(namespace, -1);
      for (const goOn of this.#waiting) {
        if (this.#now >= this.#most) return;
        goOn();
      }
    };
  }

  #in = (namespace: string): number => this.#inNamespaces.get(namespace) ?? 0;

  #count(namespace: string, more: number): void {
    this.#now += more;
    const count = this.#in(namespace) + more;
    if (count === 0) this.#inNamespaces.delete(namespace);
    else this.#inNamespaces.set(namespace, count);
  }
}
