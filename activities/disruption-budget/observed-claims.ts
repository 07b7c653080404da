import type { DisruptedVm } from '../../api/pool/pool.ts';
import { CLAIM_MS } from '../../decisions/disruption-budget/claims.ts';

/**
 * How long this worker has seen each claim of each pool, by its own clock alone. A claim is taken to be as young as
 * this worker has known it, whatever its own timestamp says.
 */
export class ObservedClaims {
  readonly #pools = new Map<string, Map<string, number>>();

  /** `uid`: the pool's. */
  observe(uid: string, claims: readonly DisruptedVm[] | undefined): void {
    const before = this.#pools.get(uid);
    if (claims === undefined || claims.length === 0) {
      this.#pools.delete(uid);
      return;
    }
    this.#pools.set(
      uid,
      new Map(claims.map((claim) => [claimKey(claim), before?.get(claimKey(claim)) ?? performance.now()])),
    );
  }

  isExpired(uid: string, claim: DisruptedVm): boolean {
    const since = this.#pools.get(uid)?.get(claimKey(claim));
    return since !== undefined && since + CLAIM_MS < performance.now();
  }
}

const claimKey = ({ vm, by, at }: DisruptedVm): string => `${vm} ${at} ${by}`;
