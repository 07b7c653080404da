/** More than users and batches tell a pool while no plan can be made for it: older ones are dropped. */
const MAX_SIGNALS = 250;

/**
 * What a workflow was told, and which of that no plan knows of yet. What was told before a plan was requested is part
 * of the state that the plan is given; but a plan that finds this state overruled by a newer status knows of nothing
 * that was told.
 */
export class PendingSignals<Ask> {
  #received: Ask[];
  /** How many of these the plan in progress knows of. */
  #known = 0;

  constructor(received: readonly Ask[] = []) {
    this.#received = [...received];
  }

  add(signal: Ask): void {
    this.#received.push(signal);
    const surplus = Math.max(this.#received.length - MAX_SIGNALS, 0);
    this.#received.splice(0, surplus);
    this.#known = Math.max(this.#known - surplus, 0);
  }

  /** Called when a plan is requested. `hasState`: whether the state that it is given has what was told so far. */
  requested(hasState: boolean): void {
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
