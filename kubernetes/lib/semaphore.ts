/**
 * A limited number of places, given in the order in which they were asked for. A caller that gives up while it waits
 * leaves the queue, and nothing was begun for it.
 */
export class Semaphore {
  #free: number;
  readonly #queue = new Set<() => void>();

  constructor(permits: number) {
    this.#free = permits;
  }

  /** Takes a free place now, if there is one. */
  tryAcquire(): boolean {
    if (this.#free === 0) return false;
    this.#free--;
    return true;
  }

  /** Waits for a place that another gives back. Throws the signal's reason if it is aborted first. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        this.#queue.delete(acquire);
        reject(signal!.reason as Error);
      };
      const acquire = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      this.#queue.add(acquire);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  release(): void {
    const [next] = this.#queue;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#queue.delete(next);
    next();
  }
}
