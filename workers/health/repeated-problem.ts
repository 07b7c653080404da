const AGAIN_MS = 60_000;

/**
 * Reports a lasting problem once, and again every minute: what is retried every second must not be logged every second.
 */
export class RepeatedProblem {
  readonly #report: (message: string) => void;
  readonly #now: () => number;
  #last: { message: string; at: number } | undefined;

  constructor(report: (message: string) => void, now: () => number = () => performance.now()) {
    this.#report = report;
    this.#now = now;
  }

  /** Reports the problem if it differs from the last one, or was last reported a minute ago. */
  lasts(message: string): void {
    const at = this.#now();
    if (this.#last?.message === message && at - this.#last.at < AGAIN_MS) return;
    this.#last = { message, at };
    this.#report(message);
  }
}

/** Returns why Temporal can't be reached, without the structures that Temporal's core wraps around the message. */
export function whyUnreached(error: unknown): string {
  const { message } = error as Error;
  const [, inside] = /\b(?:message|error): "([^"]+)"/.exec(message) ?? [];
  return inside ?? message;
}
