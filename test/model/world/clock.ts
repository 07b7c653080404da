/**
 * A clock that jumps from one scheduled event to the next, with random numbers from a seed, so that runs are
 * reproducible.
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

  /** Runs `act` in `delay` milliseconds, after the events that are already scheduled for that time. */
  in(delay: number, act: () => void): void {
    const entry = { at: this.now + Math.max(delay, 0), order: this.#order++, act };
    // Most new events are due soon: their place is near the end.
    let place = this.#due.length;
    while (place > 0 && isLater(entry, this.#due[place - 1]!)) place--;
    this.#due.splice(place, 0, entry);
  }

  /** Runs the next event. Returns false if there is none. */
  next(): boolean {
    const entry = this.#due.pop();
    if (entry === undefined) return false;
    this.now = entry.at;
    entry.act();
    return true;
  }

  /** Returns a random number from 0 to below 1 (mulberry32). */
  chance(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns a random integer from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.chance() * (most - least + 1));
  }
}

/** `#due` is sorted with the next event at its end. */
const isLater = (a: { at: number; order: number }, b: { at: number; order: number }): boolean =>
  a.at > b.at || (a.at === b.at && a.order > b.order);
