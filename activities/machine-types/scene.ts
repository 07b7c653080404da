import { transitionRules, type TransitionRules } from '../../decisions/machine-types/need.ts';
import type { Transition, TransitionResult } from '../../decisions/machine-types/transition.ts';
import type { RestartPicture } from '../../decisions/restart-budget.ts';
import type { Seen } from '../../decisions/versions.ts';
import type { Fleet } from '../fleet.ts';
import { pictureOfVms } from '../restart-hand.ts';
import type { OtherTransitions } from './other-transitions.ts';

/** What every activity of a transition is told. */
export interface TransitionRequest {
  ref: { cluster: string; id: string };
  transition: Transition;
  /** What dry runs have shown until now. */
  results: TransitionResult[];
  seen: Seen;
}

/** VMs and pools, as this worker's caches have them, in the light of a transition. */
export interface Scene {
  rules: TransitionRules;
  picture: RestartPicture;
}

export async function sceneOf(fleet: Fleet, others: OtherTransitions, { ref, transition, results }: Omit<TransitionRequest, 'seen'>): Promise<Scene> {
  const marks = new Set<string>();
  for (const { transitionMark: mark } of fleet.vms.values()) if (mark !== null && mark !== ref.id) marks.add(mark);
  await others.refresh(marks);
  const othersRunning = new Set([...marks].filter(others.runs));
  return { rules: transitionRules({ ref, transition, results, othersRunning }), picture: pictureOfVms(fleet) };
}

/** What is not older than the picture. */
export const seenOf = (fleet: Fleet): Seen => ({ pools: String(fleet.pools.version), vms: String(fleet.vms.version), vmis: String(fleet.vmis.version) });
