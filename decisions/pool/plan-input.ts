import type { Contents } from '../configuration/older-content.ts';
import type { RefusedEvacuation } from '../drain/refusals.ts';
import type { HealingState } from '../healing/state.ts';
import type { HealingInput } from '../healing/view.ts';
import type { MembersReport } from '../membership/change.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import type { RolloutInput } from '../rollout/state/context.ts';
import type { KeptClaim } from '../template/kept-disk.ts';
import type { KeptRevision } from '../template/kept-revisions.ts';

/** What a worker's cache knows of a pool, and of what its plan depends on. */
export interface PoolSnapshot
  extends
    Pick<PlanInput, 'pool' | 'vms' | 'uncontrolled' | 'isVmNameTaken' | 'vmiOf' | 'zoneOf'>,
    Pick<HealingInput, 'failedVmisOf' | 'lastFailureOf' | 'vmiHistoryOf' | 'nodeCounts'>,
    Pick<RolloutInput, 'strategy' | 'plugs' | 'expandedOf' | 'nodeLabelsOf'> {
  /** The kept revisions of the pool's template. */
  revisions: readonly KeptRevision[];
  /** Claims of the pool that are marked as kept. */
  keptClaims: readonly KeptClaim[];
  /** What is known of Secrets and ConfigMaps; null if nothing is yet, or the pool doesn't ask for it. */
  contents: Contents | null;
}

/** All that a pool is planned from: what the cache knows, and what its workflow does. */
export interface PoolPlanInput extends PlanInput, PoolSnapshot, Pick<RolloutInput, 'deferred'> {
  healing: HealingState;
  /** What has become of the request that stands on the pool, if it is about its members; absent until that is known. */
  membership?: MembersReport;
  /** Others write the status of the pool, too; absent if not. */
  isContended?: true;
  /** No batch begins earlier; milliseconds since the epoch. */
  batchesNotBefore: number;
  /** What was refused of evacuations; absent if nothing was. */
  refusals?: readonly RefusedEvacuation[];
}
