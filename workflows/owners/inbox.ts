/** Returns what was told, with one more that takes the place of what it makes needless: so they stay few. */
type Fold<Ask> = (told: readonly Ask[], ask: Ask) => Ask[];

/** What a workflow was told, until the status of its owner records it. */
export class Inbox<Ask> {
  readonly #told: Ask[];
  readonly #fold: Fold<Ask>;
  /** How many of these the plan in progress is given. */
  #given = 0;

  constructor(fold: Fold<Ask>, told: readonly Ask[] = []) {
    this.#fold = fold;
    this.#told = [...told];
  }

  add(ask: Ask): void {
    const since = this.#told.splice(this.#given);
    this.#told.push(...this.#fold(since, ask));
  }

  /** Returns what a plan is to take into account. */
  give(): Ask[] {
    this.#told.splice(0, Infinity, ...this.#told.reduce<Ask[]>(this.#fold, []));
    this.#given = this.#told.length;
    return this.all;
  }

  /** Called when a plan was made. `isRecorded`: what it was given is on record. Returns whether more was told since. */
  answered(isRecorded: boolean): boolean {
    const hasMore = this.#told.length > this.#given;
    if (isRecorded) this.#told.splice(0, this.#given);
    this.#given = 0;
    return hasMore;
  }

  /** What the next run of the workflow must know. */
  get all(): Ask[] {
    return [...this.#told];
  }
}
