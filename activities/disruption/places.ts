/**
 * Few places for acts: an act leaves its own while it only waits, and takes one again before it continues, so that no
 * more act at once than there are places.
 */
export class Places {
  /** How many there are. */
  size: number;
  #taken = 0;
  readonly #returning: (() => void)[] = [];

  constructor(size: number) {
    this.size = size;
  }

  get free(): number {
    return Math.max(this.size - this.#taken, 0);
  }

  take(): void {
    this.#taken++;
  }

  /** Gives a place back: those that want one again come before others. */
  leave(): void {
    this.#taken--;
    while (this.free > 0 && this.#returning.length > 0) {
      this.take();
      this.#returning.shift()!();
    }
  }

  /** Awaits what takes time and costs nothing, without the caller's place. */
  async without<T>(wait: Promise<T>): Promise<T> {
    this.leave();
    try {
      return await wait;
    } finally {
      if (this.free > 0) this.take();
      else await new Promise<void>((resolve) => this.#returning.push(resolve));
    }
  }
}
