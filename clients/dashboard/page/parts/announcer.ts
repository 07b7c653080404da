/** Between two announcements, in milliseconds: a screen reader would chatter otherwise. */
const INTERVAL_MS = 10_000;

/** Tells screen readers of what is new, never more often than every ten seconds, and then only the newest. */
export class Announcer {
  readonly #region: HTMLElement;
  #next: string | null = null;
  #lastAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(region: HTMLElement) {
    this.#region = region;
  }

  say(sentence: string): void {
    this.#next = sentence;
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#speak(), Math.max(0, this.#lastAt + INTERVAL_MS - performance.now()));
  }

  #speak(): void {
    this.#timer = undefined;
    this.#lastAt = performance.now();
    this.#region.textContent = this.#next;
    this.#next = null;
  }
}
