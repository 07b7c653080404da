import { isConflict, isNotFound } from '../../kubernetes/errors.ts';

interface WorkQueueOptions {
  /** Maximum number of keys processed at once. */
  concurrency: number;
  /**
   * Reconciles the object of one key. Resolves to the milliseconds until the next reconcile; undefined if none is due.
   */
  work: (key: string) => Promise<number | undefined>;
  onError: (key: string, error: Error) => void;
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 30_000;
/** The limit of setTimeout. A longer wait ends early, and the reconcile asks for the rest. */
const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * Keys that wait to be reconciled: each is queued at most once, and never processed twice at the same time. Failures
 * are retried with exponential backoff. A conflict or a deleted object is retried but not reported: it only means a
 * stale cache.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #working = new Map<string, Promise<void>>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #failures = new Map<string, number>();
  #started = false;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    if (this.#stopped) return;
    this.#waiting.add(key);
    this.#pump();
  }

  /** Starts to process keys, including those added before. */
  start(): void {
    this.#started = true;
    this.#pump();
  }

  /** Cancels all timers. Resolves when the reconciles in progress are done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#waiting.clear();
    await Promise.all(this.#working.values());
  }

  #pump(): void {
    if (!this.#started) return;
    for (const key of this.#waiting) {
      if (this.#working.size >= this.#options.concurrency) return;
      if (this.#working.has(key)) continue;
      this.#waiting.delete(key);
      clearTimeout(this.#timers.get(key));
      this.#timers.delete(key);
      this.#working.set(key, this.#work(key));
    }
  }

  async #work(key: string): Promise<void> {
    try {
      const again = await this.#options.work(key);
      this.#failures.delete(key);
      if (again !== undefined) this.#addAfter(key, again);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      if (!isConflict(error) && !isNotFound(error) && !this.#stopped) this.#options.onError(key, error as Error);
      this.#addAfter(key, Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS));
    } finally {
      this.#working.delete(key);
      if (!this.#stopped) this.#pump();
    }
  }

  #addAfter(key: string, ms: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#timers.get(key));
    this.#timers.set(
      key,
      setTimeout(() => this.add(key), Math.min(Math.max(0, ms), LONGEST_TIMER_MS)),
    );
  }
}
