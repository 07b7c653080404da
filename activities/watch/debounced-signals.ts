const LEAST_MS = 250;
/** 50 plans a second in all, which half a core can do. */
export const MS_A_KEY = 20;

/**
 * Returns how long a key waits for its next signal, in milliseconds, if this many keys were just signalled: short while
 * little happens, since a rollout waits for it, and longer the more pools share the cost of what the signals trigger:
 * 10,000 pools that change all the time are planned as often, in all, as 500. More would only take the worker's time
 * from the VMs in progress, which need no plan to continue.
 */
export const notifyInterval = (keys: number): number => Math.max(keys * MS_A_KEY, LEAST_MS);

/** Maximum number of signals in flight: at the start, thousands of pools must be signalled, and the others wait. */
const MAX_IN_FLIGHT = 50;

/**
 * Calls `signal` for a key at once, and then at most once an interval while more come for the same key; the last signal
 * is never lost.
 */
export class DebouncedSignals {
  readonly #signal: (key: string) => unknown;
  readonly #interval: (keys: number, key: string) => number;
  readonly #queued = new Set<string>();
  #inFlight = 0;
  readonly #waiting = new Map<string, { timer: NodeJS.Timeout; again: boolean }>();

  /** `interval`: how long this key waits for its next signal, if so many were just signalled, in milliseconds. */
  constructor(signal: (key: string) => unknown, interval: (keys: number, key: string) => number) {
    this.#signal = signal;
    this.#interval = interval;
  }

  for(key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#send(key);
    else waiting.again = true;
  }

  /** Calls `signal` at once, whatever the interval: for changes that a user waits for. */
  atOnce(key: string): void {
    clearTimeout(this.#waiting.get(key)?.timer);
    this.#queued.delete(key);
    this.#wait(key);
    this.#call(key);
  }

  stop(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#queued.clear();
  }

  #send(key: string): void {
    this.#wait(key);
    if (this.#inFlight < MAX_IN_FLIGHT) this.#call(key);
    else this.#queued.add(key);
  }

  #call(key: string): void {
    const sending = this.#signal(key);
    if (!(sending instanceof Promise)) return;
    this.#inFlight++;
    void sending.finally(() => {
      this.#inFlight--;
      const [next] = this.#queued;
      if (next === undefined) return;
      this.#queued.delete(next);
      this.#call(next);
    });
  }

  #wait(key: string): void {
    const timer = setTimeout(
      () => {
        const { again } = this.#waiting.get(key)!;
        this.#waiting.delete(key);
        if (again) this.#send(key);
      },
      this.#interval(this.#waiting.size + 1, key),
    );
    this.#waiting.set(key, { timer, again: false });
  }
}
