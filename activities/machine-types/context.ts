import type { VmsSnapshot } from '../../decisions/disruption-budget/restart-budget.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { transitionRules, type TransitionRules } from '../../decisions/machine-types/criteria.ts';
import { othersOf } from '../../decisions/machine-types/other-transitions.ts';
import { recordOf } from '../../decisions/machine-types/record.ts';
import type { Transition, TransitionResult } from '../../decisions/machine-types/transition.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { snapshotOfVms } from '../power/vm-power.ts';
import { isTransitionId, type OtherTransitions } from './other-transitions.ts';

/** What every activity of a transition receives. */
export interface TransitionRequest {
  ref: { cluster: string; id: string };
  transition: Transition;
  /** What dry runs have shown so far. */
  results: TransitionResult[];
  minVersions: ResourceVersions;
}

/** VMs and pools from this worker's caches, in the light of a transition. */
export interface TransitionContext {
  rules: TransitionRules;
  snapshot: VmsSnapshot;
}

/**
 * Returns the context of a transition. What is known about other transitions is not older than `ageMs`, in
 * milliseconds.
 */
export async function contextOf(
  cache: ClusterCache,
  others: OtherTransitions,
  request: Omit<TransitionRequest, 'minVersions'>,
  ageMs?: number,
): Promise<TransitionContext> {
  const { ref, transition, results } = request;
  const ids = otherIds(cache, ref.id);
  await others.refresh(ids, ageMs);
  // Also for marks that VMs get from other transitions meanwhile: a transition that was not looked up yet is assumed to
  // be running.
  const othersRunning = { has: (one: string) => isTransitionId(one) && others.runs(one) };
  return { rules: transitionRules({ ref, transition, results, othersRunning }), snapshot: snapshotOfVms(cache) };
}

/** Ids of all transitions that have left something on a VM or a pool, even if they have ended. */
function otherIds(cache: ClusterCache, own: string): string[] {
  const ids = othersOf(cache.vms.values(), own);
  for (const { metadata } of cache.pools.values()) ids.add(recordOf(metadata.annotations)?.id ?? own);
  return [...ids].filter((id) => isTransitionId(id) && id !== own);
}
