import { setTimeout as sleep } from 'node:timers/promises';

interface ContactOptions {
  /** Asks the API server for something small. */
  probe: () => Promise<unknown>;
  /** For how long something that should follow the API server has failed to, in milliseconds. */
  behindMs: () => number;
  /** Called when the API server is lost, and when it is back. */
  onChange?: ((isLost: boolean) => void) | undefined;
  /** Called when it answers after a probe that failed: watches may have died meanwhile. */
  onRegained?: () => void;
  everyMs?: number;
  lostAfterMs?: number;
}

const EVERY_MS = 4_000;
/** An API server that takes longer, in milliseconds, may be out of reach. */
const LATE_MS = 1_000;
/** Long enough for an API server restart or a network hiccup. */
const LOST_AFTER_MS = 15_000;

/**
 * Whether the API server still answers. A watch on a dead connection is as silent as a watch of a cluster in which
 * nothing happens: only a request tells them apart.
 */
export class ApiServerContact {
  readonly #options: ContactOptions & Required<Pick<ContactOptions, 'everyMs' | 'lostAfterMs'>>;
  readonly #stop = new AbortController();
  #lost = new AbortController();
  #answeredAt = performance.now();
  /** When the first probe was sent that has had no answer since; null if the last one was answered. */
  #askedAt: number | null = null;
  #hasFailed = false;
  #news = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;

  constructor({ everyMs = EVERY_MS, lostAfterMs = LOST_AFTER_MS, ...options }: ContactOptions) {
    this.#options = { ...options, everyMs, lostAfterMs };
  }

  start(): void {
    this.#answeredAt = performance.now();
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#askedAt = null;
    this.#tellWaiting();
  }

  /** Aborted when the API server is lost; replaced by a new signal once it is back. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Resolves to true once the API server answers, if an answer is late by now; to false if it is lost. */
  async answers(): Promise<boolean> {
    const isLate = (): boolean => performance.now() - (this.#askedAt ?? Infinity) > LATE_MS;
    while (isLate() && !this.lost.aborted) await this.#news.promise;
    return !this.lost.aborted;
  }

  #answer(): void {
    // A late answer shows that connections have outlived whatever held it up.
    if (this.#hasFailed) this.#options.onRegained?.();
    this.#answeredAt = performance.now();
    this.#askedAt = null;
    this.#hasFailed = false;
    this.#tellWaiting();
  }

  #tellWaiting(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  async #run(): Promise<void> {
    const { probe, behindMs, everyMs, lostAfterMs } = this.#options;
    const { signal } = this.#stop;
    let isProbing = false;
    while (!signal.aborted) {
      // A hanging request must not keep this loop from noticing how much time has passed.
      if (!isProbing) {
        isProbing = true;
        this.#askedAt ??= performance.now();
        void probe()
          .then(
            () => this.#answer(),
            () => (this.#hasFailed = true),
          )
          .finally(() => (isProbing = false));
      }
      await sleep(everyMs, undefined, { signal }).catch(() => {});
      this.#notify(performance.now() - this.#answeredAt > lostAfterMs || behindMs() > lostAfterMs);
    }
  }

  #notify(isLost: boolean): void {
    if (isLost === this.#lost.signal.aborted || this.#stop.signal.aborted) return;
    if (isLost) this.#lost.abort();
    else this.#lost = new AbortController();
    this.#tellWaiting();
    this.#options.onChange?.(isLost);
  }
}
