import { activityInfo } from '@temporalio/activity';
import type { Labels } from '../../decisions/disruption-budget/any-vms/budget-index.ts';
import { isFree } from '../../decisions/disruption-budget/any-vms/counts.ts';
import type { Purpose } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { NotMoved } from '../../decisions/drain/refusals.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { isNotDone, ActRefused } from '../../kubernetes/errors.ts';
import type { LastCheck } from '../../kubernetes/retry.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import type { DisruptionClaim, DisruptionClaims } from './disruption-claims.ts';

/** What is to be disrupted, as the caller has seen it last. */
interface ClaimTarget<Key extends PoolKey | null = PoolKey | null> extends Purpose {
  vm: VmView;
  vmi: VmiView | undefined;
  /** Which migration by drover is to be created, if the VMI is not to end. */
  migration?: number | undefined;
  /** The labels that the VM gets with the act. */
  becomes?: Labels | undefined;
  /** The VM's pool, if its budget is asked as well; null if the VM is in none, or the act asks no pool. */
  pool: Key;
}

/** The right to disrupt a VM, for as long as it may be used: `actWithClaim` and `claimlessFor` alone give it. */
export interface Claim {
  /** For the options of each write of the act: throws a conflict if it is too late, and the write is not sent. */
  lastCheck: LastCheck;
  /** Throws a conflict if a VM with these labels is under a budget that the claim is not for. */
  recheck: (vm: Pick<VmView, 'namespace' | 'ownLabels'>) => void;
  /** Whether a VM with these labels is under no other budget than the claim is for. */
  covers: (vm: Pick<VmView, 'namespace' | 'ownLabels'>) => boolean;
}

/** The same, with the pool as it was when the claim was made. */
interface PoolClaim extends Claim {
  pool: StoredPool;
}

const NEEDLESS: Claim = { lastCheck: () => {}, recheck: () => {}, covers: () => true };

/** The right to disrupt a VM that serves nobody, without a place in any budget; null if it may serve. */
export const claimlessFor = (vm: VmView, vmi: VmiView | undefined): Claim | null => (isFree(vm, vmi) ? NEEDLESS : null);

/**
 * What came of an act. `isDone`: the VM is or may be disrupted by it, so that the claim is in use; `live`: KubeVirt is
 * to change its VMI while that runs, which no pool counts.
 */
export interface Acted<T> {
  isDone: boolean | 'live';
  value: T;
}

export const notDone = <T>(value: T): Acted<T> => ({ isDone: false, value });

/** The VM waits: the budget is used up, or `reason` names what else stands in the way. `whyNot`: why, in words. */
export class NotAdmitted {
  readonly whyNot: string;
  readonly reason: Exclude<NotMoved['reason'], 'Refused'>;
  /** UID of the budget that refuses, and when it opens; null if no budget does. */
  readonly budget: { uid: string; opensAt: number | null } | null;

  constructor(whyNot: string, reason: NotAdmitted['reason'] = 'NoClaim', budget: NotAdmitted['budget'] = null) {
    this.whyNot = whyNot;
    this.reason = reason;
    this.budget = budget;
  }
}

/** Who claims: the workflow of this activity. */
export const claimant = (): string => activityInfo().workflowExecution?.workflowId ?? 'nobody';

/**
 * Acts on the VM within all disruption budgets that it is under: makes a claim for the workflow of this activity, as
 * the VM was seen last, and releases it unless the act was done. Resolves to `NotAdmitted` if there is no claim. A
 * claim that the same workflow made before, even in another attempt, counts as its own. If it got too late to act, a
 * conflict is thrown: the caller looks again, and claims again.
 */
async function actWithClaim<T>(
  claims: DisruptionClaims,
  target: ClaimTarget,
  act: (claim: Claim, pool: StoredPool | null) => Promise<Acted<T>>,
): Promise<T | NotAdmitted> {
  const answer = await claims.claim({ ...target, by: claimant() });
  if ('message' in answer) {
    const { message, budget: uid, opensAt = null } = answer;
    return new NotAdmitted(message, 'NoClaim', { uid, opensAt });
  }
  try {
    const { isDone, value } = await act(claimOf(answer), answer.pool);
    if (isDone === 'live') await answer.release('pool');
    else if (!isDone) await answer.release();
    return value;
  } catch (error) {
    // After another error, the act may have been done all the same.
    if (isNotDone(error)) await answer.release();
    throw error;
  }
}

const claimOf = ({ isFresh, covers }: DisruptionClaim): Claim => ({
  covers,
  lastCheck: () => {
    // Others may have the budget already.
    if (!isFresh()) throw new ActRefused('Conflict', 'the API server takes too long to note who disrupts it');
  },
  recheck: (vm) => {
    if (!covers(vm)) throw new ActRefused('Conflict', 'another disruption budget has just come to hold for it');
  },
});

/** Does the same for an act on a VM of this pool. */
export const actInPool = <T>(
  claims: DisruptionClaims,
  target: ClaimTarget<PoolKey>,
  act: (claim: PoolClaim) => Promise<Acted<T>>,
): Promise<T | NotAdmitted> =>
  // A claim that includes the pool's budget comes with the pool.
  actWithClaim(claims, target, (claim, pool) => act({ ...claim, pool: pool! }));

/** Does the same for an act that is done unless it throws. */
export const doWithClaim = <T>(
  claims: DisruptionClaims,
  target: ClaimTarget,
  act: (claim: Claim) => Promise<T>,
): Promise<T | NotAdmitted> =>
  actWithClaim(claims, target, async (claim) => ({ isDone: true, value: await act(claim) }));
