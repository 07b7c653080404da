/** Why a collection can't be followed. */
export type Missing = 'the API server does not serve it' | 'this client may not list it';

const MISSING: Partial<Record<number, Missing>> = {
  403: 'this client may not list it',
  404: 'the API server does not serve it',
};

/** An API server that was restarted takes a few seconds until it serves all kinds, and knows all rights. */
const LATE_MS = 60_000;

/** Judges the answers about a kind of object that there is something to do without. */
export class RefusedKind {
  readonly #lateMs: number;
  #wasListed = false;
  #since: number | undefined;

  constructor(lateMs = LATE_MS) {
    this.#lateMs = lateMs;
  }

  listed(): void {
    this.#wasListed = true;
    this.#since = undefined;
  }

  /**
   * Returns why the kind is missing by a status of the API server's answer; null if this says nothing of that. What was
   * there once is only late, such as after a restart of the API server, until that has lasted: its definition was
   * deleted, or a right taken away.
   */
  whyMissing(status: number | undefined): Missing | null {
    const why = MISSING[status ?? 0] ?? null;
    this.#since = why === null ? undefined : (this.#since ?? performance.now());
    const isLate = this.#wasListed && performance.now() - (this.#since ?? 0) < this.#lateMs;
    return isLate ? null : why;
  }
}
