interface Entry<T> {
  at: number;
  value: Promise<T>;
}

/** Objects whose details are kept at once: more than anybody has open. */
const MOST = 8;

/** What was read of objects, for a short time: tabs ask every few seconds, and for each page of it. */
export class Kept<T> {
  readonly #ms: number;
  readonly #entries = new Map<string, Entry<T>>();

  /** `ms`: how long it counts. */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Reads what is not known of the object, or no longer fresh. A failure is not kept. */
  get(uid: string, read: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(uid);
    if (known !== undefined && performance.now() - known.at < this.#ms) return known.value;
    const value = read();
    this.#entries.delete(uid);
    this.#entries.set(uid, { at: performance.now(), value });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MOST && oldest !== undefined) this.#entries.delete(oldest);
    value.catch(() => this.#entries.delete(uid));
    return value;
  }
}

/** For how long Temporal is asked for what a page shows, in milliseconds. */
const TEMPORAL_MS = 2_000;

/** What Temporal tells; null if it tells nothing, or not soon. */
export function soon<T>(answer: Promise<T | undefined>): Promise<T | null> {
  const late = new Promise<null>((resolve) => setTimeout(resolve, TEMPORAL_MS, null).unref());
  return Promise.race([answer.then((known) => known ?? null), late]).catch(() => null);
}
