/** An act that takes longer, in milliseconds, gives its place to others: a webhook may hold up a write for as long. */
const SLOW_MS = 30_000;

/**
 * Places for what all waves of a worker do at once. The wave that has waited longest has them first, until it has begun
 * with all it may: hundreds of pools that change at once are done one after the other. If each did one VM at a time,
 * all of them would be planned again for each of their VMs; and if nothing limited them, an act that has begun would
 * wait for each of its requests behind thousands of others.
 */
export class ActsOfWaves {
  readonly #most: number;
  #now = 0;
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  get free(): number {
    return Math.max(this.#most - this.#now, 0);
  }

  /** Calls `goOn` when there are places, in the order in which waves have begun to wait, until `leave`. */
  wait(goOn: () => void): void {
    this.#waiting.add(goOn);
  }

  leave(goOn: () => void): void {
    this.#waiting.delete(goOn);
  }

  /** Takes a place. Returns what gives it back. */
  begin(): () => void {
    this.#now++;
    const end = (): void => {
      clearTimeout(slow);
      if (hasEnded) return;
      hasEnded = true;
      this.#now--;
      this.#serve();
    };
    let hasEnded = false;
    const slow = setTimeout(end, SLOW_MS);
    return end;
  }

  #serve(): void {
    for (const goOn of this.#waiting) {
      if (this.free === 0) return;
      goOn();
    }
  }
}
