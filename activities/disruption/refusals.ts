/**
 * After a refused claim, a budget is counted again this much later, in milliseconds: others may give their claims back.
 */
const FULL_MS = 1_000;
/** The same for a budget whose windows are closed: users may change it. */
const CLOSED_MS = 30_000;

/** Budgets that were used up, by their names: they are not asked again for a moment. */
export class Refusals {
  readonly #known = new Map<string, { message: string; until: number; isTimed: boolean }>();

  /** `opensAt`: when a window of the budget opens, in milliseconds since the epoch; null if that is not what it is. */
  add(budget: string, message: string, opensAt: number | null = null): void {
    const now = Date.now();
    const until = opensAt === null ? now + FULL_MS : Math.min(opensAt, now + CLOSED_MS);
    this.#known.set(budget, { message, until, isTimed: opensAt !== null });
  }

  forget(budget: string): void {
    this.#known.delete(budget);
  }

  /** Why the budget is not asked; null if it may be asked again. */
  whyNot(budget: string, now: number): string | null {
    const known = this.#known.get(budget);
    return known !== undefined && now < known.until ? known.message : null;
  }

  /** Why some budget is not asked; null if all may be. */
  any(now: number): string | null {
    for (const { message, until } of this.#known.values()) if (now < until) return message;
    return null;
  }

  /** Whether a budget is not asked because of its windows. */
  isTimed(now: number): boolean {
    return [...this.#known.values()].some(({ isTimed, until }) => isTimed && now < until);
  }

  /** When they may be asked again, in milliseconds since the epoch. */
  get times(): number[] {
    return [...this.#known.values()].map(({ until }) => until);
  }
}
