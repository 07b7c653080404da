/**
 * The API server's clock, as far as its answers tell it. Timestamps of objects are times of this clock; those of
 * workers and of Temporal may differ. An answer's `Date` has whole seconds, so that each answer only bounds by how much
 * the server is ahead; many answers together say so to milliseconds.
 */
export class ServerClock {
  #least = -Infinity;
  #most = Infinity;

  /** `sentAt`, `answeredAt`: when a call was sent and its answer began, by this machine's clock. */
  observe(date: unknown, sentAt: number, answeredAt: number): void {
    const time = typeof date === 'string' ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(time)) return;
    const [least, most] = [time - answeredAt, time + 1_000 - sentAt];
    const isOther = least > this.#most || most < this.#least;
    this.#least = isOther ? least : Math.max(this.#least, least);
    this.#most = isOther ? most : Math.min(this.#most, most);
  }

  /** Milliseconds since the epoch. A clock that may agree with this machine's is taken to. */
  now(): number {
    return Date.now() + Math.min(Math.max(this.#least, 0), this.#most);
  }
}
