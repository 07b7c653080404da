/**
 * A clock that moves from one due moment to the next, and chance that comes from a seed: what happens on them can
 * happen again.
 */
export class Clock {
  /** Milliseconds since the epoch. */
  now: number;
  readonly #due: { at: number; order: number; act: () => void }[] = [];
  #order = 0;
  #state: number;

  constructor(now: number, seed: number) {
    this.now = now;
    this.#state = seed >>> 0;
  }

  /** Runs `act` so many milliseconds from now; after what is due in the same moment already. */
  in(delay: number, act: () => void): void {
    const entry = { at: this.now + Math.max(delay, 0), order: this.#order++, act };
    // Few are far away: the place is near the end.
    let place = this.#due.length;
    while (place > 0 && isLater(entry, this.#due[place - 1]!)) place--;
    this.#due.splice(place, 0, entry);
  }

  /** Runs what is due next; false where nothing is. */
  next(): boolean {
    const entry = this.#due.pop();
    if (entry === undefined) return false;
    this.now = entry.at;
    entry.act();
    return true;
  }

  /** From 0 to below 1 (mulberry32). */
  chance(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.chance() * (most - least + 1));
  }
}

/** The list is kept with the nearest at its end. */
const isLater = (one: { at: number; order: number }, other: { at: number; order: number }): boolean =>
  one.at > other.at || (one.at === other.at && one.order > other.order);
