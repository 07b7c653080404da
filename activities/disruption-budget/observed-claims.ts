import type { DisruptedVm } from '../../api/pool/pool.ts';
import { CLAIM_MS } from '../../decisions/disruption-budget/claims.ts';

/** A claim on any budget; one on a pool's says no namespace. */
type AnyClaim = DisruptedVm & { namespace?: string };

/**
 * How long this worker has seen each claim of each budget, by its own clock alone. A claim is taken to be as young as
 * this worker has known it, whatever its own timestamp says.
 */
export class ObservedClaims {
  readonly #budgets = new Map<string, Map<string, number>>();

  /** `uid`: the budget's, or the pool's. */
  observe(uid: string, claims: readonly AnyClaim[] | undefined): void {
    const before = this.#budgets.get(uid);
    if (claims === undefined || claims.length === 0) {
      this.#budgets.delete(uid);
      return;
    }
    this.#budgets.set(
      uid,
      new Map(claims.map((claim) => [claimKey(claim), before?.get(claimKey(claim)) ?? performance.now()])),
    );
  }

  isExpired(uid: string, claim: AnyClaim): boolean {
    const since = this.#budgets.get(uid)?.get(claimKey(claim));
    return since !== undefined && since + CLAIM_MS < performance.now();
  }
}

export const claimKey = ({ namespace = '', vm, by, at }: AnyClaim): string => `${namespace}/${vm} ${at} ${by}`;
