/** Returns what was told, with one more that takes the place of what it makes needless: so they stay few. */
type Fold<Ask> = (told: readonly Ask[], ask: Ask) => Ask[];

/**
 * What a workflow was told, and which of that no plan knows of yet. What was told before a plan was requested is part
 * of the state that the plan is given; but a plan that finds this state overruled by a newer status knows of nothing
 * that was told.
 */
export class PendingSignals<Ask> {
  #received: Ask[];
  readonly #fold: Fold<Ask>;
  /** How many of these the plan in progress knows of. */
  #known = 0;

  constructor(fold: Fold<Ask>, received: readonly Ask[] = []) {
    this.#fold = fold;
    this.#received = [...received];
  }

  add(signal: Ask): void {
    const unknown = this.#received.splice(this.#known);
    this.#received.push(...this.#fold(unknown, signal));
  }

  /** Called when a plan is requested. `hasState`: whether the state that it is given has what was told so far. */
  requested(hasState: boolean): void {
    this.#received = this.#received.reduce<Ask[]>(this.#fold, []);
    this.#known = hasState ? this.#received.length : 0;
  }

  /** Called when a plan was made: returns what it doesn't know of. `isOverruled`: it was made from a newer status. */
  unknown(isOverruled: boolean): Ask[] {
    const unknown = this.#received.slice(isOverruled ? 0 : this.#known);
    this.#received = [];
    this.#known = 0;
    return unknown;
  }

  /** What the next run of the workflow must know. */
  get received(): Ask[] {
    return [...this.#received];
  }
}
