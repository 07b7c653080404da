import { activityInfo } from '@temporalio/activity';
import type { NotMoved } from '../../decisions/drain/refusals.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { isNotDone, ActRefused } from '../../kubernetes/errors.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import type { DisruptionClaims } from './disruption-claims.ts';

/** What is to be disrupted, as the caller has seen it last. */
interface ClaimTarget {
  vm: VmView;
  vmi: VmiView | undefined;
  /** Which migration by drover is to be created, if the VMI is not to end. */
  migration?: number | undefined;
}

/** A claim on the disruption budget, for as long as it may be used. */
export interface Claim {
  /** For the options of each write of the act: throws a conflict if it is too late, and the write is not sent. */
  lastCheck: (() => void) | undefined;
}

/** A claim on a pool's budget, and the pool as it was when the claim was made. */
interface PoolClaim extends Claim {
  pool: StoredPool;
}

/** What an act needs that costs no budget. */
export const NO_CLAIM: Claim = { lastCheck: undefined };

/** What came of an act. `isDone`: the VM is or may be disrupted by it, so that the claim is in use. */
export interface Acted<T> {
  isDone: boolean;
  value: T;
}

export const notDone = <T>(value: T): Acted<T> => ({ isDone: false, value });

/** The VM waits: the budget is used up, or `reason` names what else stands in the way. `whyNot`: why, in words. */
export class NotAdmitted {
  readonly whyNot: string;
  readonly reason: Exclude<NotMoved['reason'], 'Refused'>;

  constructor(whyNot: string, reason: NotAdmitted['reason'] = 'NoClaim') {
    this.whyNot = whyNot;
    this.reason = reason;
  }
}

/**
 * Acts on the VM within its pool's disruption budget: makes a claim for the workflow of this activity, as the VM
 * was seen last, and releases it unless the act was done. Resolves to `NotAdmitted` if there is no claim. A claim that
 * the same workflow made before, even in another attempt, counts as its own. If it got too late to act, a conflict
 * is thrown: the caller looks again, and claims again.
 */
export async function actWithClaim<T>(
  claims: DisruptionClaims,
  key: PoolKey,
  target: ClaimTarget,
  act: (claim: PoolClaim) => Promise<Acted<T>>,
): Promise<T | NotAdmitted> {
  const by = activityInfo().workflowExecution?.workflowId ?? 'nobody';
  const answer = await claims.claim(key, { ...target, by });
  if ('whyNot' in answer) return new NotAdmitted(answer.whyNot);
  const { claim, pool } = answer;
  const lastCheck = (): void => {
    // Others may have the budget already.
    if (!claim.isFresh()) throw new ActRefused('Conflict', 'the API server takes too long to note who disrupts it');
  };
  try {
    const { isDone, value } = await act({ lastCheck, pool });
    if (!isDone) await claim.release();
    return value;
  } catch (error) {
    // After another error, the act may have been done all the same.
    if (isNotDone(error)) await claim.release();
    throw error;
  }
}

/** Does the same for an act that is done unless it throws. `key`: null for a VM of no pool, which has no budget. */
export const doWithClaim = <T>(
  claims: DisruptionClaims,
  key: PoolKey | null,
  target: ClaimTarget,
  act: (claim: Claim) => Promise<T>,
): Promise<T | NotAdmitted> =>
  key === null
    ? act(NO_CLAIM)
    : actWithClaim(claims, key, target, async (claim) => ({ isDone: true, value: await act(claim) }));
