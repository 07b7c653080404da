/**
 * Longer than the pause between failures: a watch that has not failed for this long follows again, even if nothing has
 * happened that it could report.
 */
const QUIET_MS = 10_000;

/** For how long something has failed, by the process's clock. */
export class Outage {
  #beganAt: number | undefined;
  #failedAt = -Infinity;

  /** How long it has lasted, in milliseconds; 0 if there is none. */
  get ms(): number {
    return this.#beganAt !== undefined && this.#isRecent ? performance.now() - this.#beganAt : 0;
  }

  failed(): void {
    if (!this.#isRecent) this.#beganAt = undefined;
    this.#failedAt = performance.now();
    this.#beganAt ??= this.#failedAt;
  }

  end(): void {
    this.#beganAt = undefined;
  }

  get #isRecent(): boolean {
    return performance.now() - this.#failedAt <= QUIET_MS;
  }
}
