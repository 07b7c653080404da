/** A part of the places: never more than `most` of them are held in its name. */
export interface Share {
  name: string;
  most: number;
}

interface Waiting {
  shares: readonly Share[];
  begin: () => void;
}

/**
 * A limited number of places, given in the order in which they were asked for. Only a caller whose shares are used up
 * is passed over. A caller that gives up while it waits leaves the queue, and nothing was begun for it.
 */
export class Semaphore {
  #size: number;
  #taken = 0;
  readonly #held = new Map<string, number>();
  readonly #queue = new Set<Waiting>();

  constructor(size: number) {
    this.#size = size;
  }

  /** How many places there are. If more are taken when it shrinks, none is given before those are back. */
  get size(): number {
    return this.#size;
  }

  set size(size: number) {
    this.#size = size;
    this.#serve();
  }

  get free(): number {
    return Math.max(this.#size - this.#taken, 0);
  }

  /** Takes a free place now, if there is one. */
  tryAcquire(shares: readonly Share[] = []): boolean {
    if (!this.#isFree(shares)) return false;
    this.#count(shares, 1);
    return true;
  }

  /** Takes a place, once there is one. */
  async acquire(): Promise<void> {
    if (!this.tryAcquire()) await this.wait(undefined);
  }

  /** Waits for a place that another gives back. Throws the signal's reason if it is aborted first. */
  async wait(signal: AbortSignal | undefined, shares: readonly Share[] = []): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        this.#queue.delete(waiting);
        reject(signal!.reason as Error);
      };
      const begin = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const waiting = { shares, begin };
      this.#queue.add(waiting);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Gives a place back that was taken with these shares. */
  release(shares: readonly Share[] = []): void {
    this.#count(shares, -1);
    this.#serve();
  }

  #serve(): void {
    for (const waiting of this.#queue) {
      if (this.free === 0) return;
      if (!this.#isFree(waiting.shares)) continue;
      this.#queue.delete(waiting);
      this.#count(waiting.shares, 1);
      waiting.begin();
    }
  }

  #isFree(shares: readonly Share[]): boolean {
    return this.free > 0 && shares.every(({ name, most }) => (this.#held.get(name) ?? 0) < most);
  }

  #count(shares: readonly Share[], more: number): void {
    this.#taken += more;
    for (const { name } of shares) {
      const held = (this.#held.get(name) ?? 0) + more;
      if (held === 0) this.#held.delete(name);
      else this.#held.set(name, held);
    }
  }
}
