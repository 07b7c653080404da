import { activityInfo } from '@temporalio/activity';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { PoolKey } from '../owners/types.ts';
import type { DisruptionClaim, DisruptionClaims } from './places.ts';

/** Writing a claim takes a moment if the API server is healthy. */
const TRIES = 3;

/**
 * Claims a place for the VM in its pool's disruption budget, for the workflow of this activity. Resolves to a place
 * that may be used now, or to a sentence that says why there is none. A place that the same workflow claimed before,
 * even in another attempt, still counts as its own. `migration`: which one by drover is to be created, if its VMI is
 * not to end.
 */
export async function claimFor(
  places: DisruptionClaims,
  key: PoolKey,
  vm: VmView,
  vmi: VmiView | undefined,
  migration?: number,
): Promise<DisruptionClaim | string> {
  const by = activityInfo().workflowExecution?.workflowId ?? 'nobody';
  for (let tries = 1; ; tries++) {
    const answer = await places.claim(key, { vm, vmi, by, migration });
    if ('whyNot' in answer) return answer.whyNot;
    if (answer.place.isFresh()) return answer.place;
    if (tries === TRIES) return 'the API server takes too long to note who disrupts it';
  }
}
