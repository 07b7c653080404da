const AGAIN_MS = 60_000;

/** Tells what lasts once, and again after a minute: what is tried each second would else be told each second. */
export class Trouble {
  readonly #tell: (words: string) => void;
  readonly #now: () => number;
  #last: { words: string; at: number } | undefined;

  constructor(tell: (words: string) => void, now: () => number = () => performance.now()) {
    this.#tell = tell;
    this.#now = now;
  }

  /** Told if it is another than before, or has lasted for another minute. */
  lasts(words: string): void {
    const at = this.#now();
    if (this.#last?.words === words && at - this.#last.at < AGAIN_MS) return;
    this.#last = { words, at };
    this.#tell(words);
  }
}

/** Why Temporal can't be reached, without the structures around it in which Temporal's core tells it. */
export function whyUnreached(error: unknown): string {
  const { message } = error as Error;
  const [, inside] = /\b(?:message|error): "([^"]+)"/.exec(message) ?? [];
  return inside ?? message;
}
