/**
 * After a refused claim, a budget is counted again this much later, in milliseconds: others may give their claims back.
 */
const FULL_MS = 1_000;

/** Budgets that were used up, by their names: they are not asked again for a moment. */
export class Refusals {
  readonly #known = new Map<string, { message: string; until: number }>();

  add(budget: string, message: string): void {
    this.#known.set(budget, { message, until: Date.now() + FULL_MS });
  }

  forget(budget: string): void {
    this.#known.delete(budget);
  }

  /** Why the budget is not asked; null if it may be asked again. */
  whyNot(budget: string, now: number): string | null {
    const known = this.#known.get(budget);
    return known !== undefined && now < known.until ? known.message : null;
  }

  /** When they may be asked again, in milliseconds since the epoch. */
  get times(): number[] {
    return [...this.#known.values()].map(({ until }) => until);
  }
}
