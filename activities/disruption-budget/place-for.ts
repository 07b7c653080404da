import { activityInfo } from '@temporalio/activity';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { PoolKey } from '../pool/types.ts';
import type { Place, Places } from './places.ts';

/** A claim is written in a moment, where the API server is well. */
const TRIES = 3;

/**
 * A place for the VM, claimed for the workflow of this activity, on which may be acted now; a sentence where the budget
 * of its pool is full. Claimed again by the same workflow, be it by another attempt, the place is still its own.
 */
export async function placeFor(
  places: Places,
  key: PoolKey,
  vm: VmView,
  vmi: VmiView | undefined,
): Promise<Place | string> {
  const by = activityInfo().workflowExecution?.workflowId ?? 'nobody';
  for (let tries = 1; ; tries++) {
    const answer = await places.claim(key, { vm, vmi, by });
    if ('whyNot' in answer) return answer.whyNot;
    if (answer.place.isFresh()) return answer.place;
    if (tries === TRIES) return 'the API server takes too long to note who disrupts it';
  }
}
