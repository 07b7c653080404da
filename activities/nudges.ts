/** Calls `nudge` for a key at once, and while more come for the same key only once an interval, with the last word never lost. */
export class Nudges {
  readonly #nudge: (key: string) => void;
  readonly #intervalMs: number;
  readonly #waiting = new Map<string, { timer: NodeJS.Timeout; again: boolean }>();

  constructor(nudge: (key: string) => void, intervalMs: number) {
    this.#nudge = nudge;
    this.#intervalMs = intervalMs;
  }

  for(key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#send(key);
    else waiting.again = true;
  }

  /** For what a person waits for: at once, whatever the interval. */
  atOnce(key: string): void {
    clearTimeout(this.#waiting.get(key)?.timer);
    this.#send(key);
  }

  stop(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }

  #send(key: string): void {
    const timer = setTimeout(() => {
      const { again } = this.#waiting.get(key)!;
      this.#waiting.delete(key);
      if (again) this.#send(key);
    }, this.#intervalMs);
    this.#waiting.set(key, { timer, again: false });
    this.#nudge(key);
  }
}
