import { tooDeep } from '../../api/depth.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { AGAIN_MS, deepTemplate, noPlan, stalledConditions } from '../pool/contained-plan.ts';
import { planReplicaSet, type ReplicaSetInput, type ReplicaSetPlan } from './plan.ts';

/**
 * Plans one set. Contains errors: if no plan can be made, nothing is done to the set's VMs, the condition `Stalled`
 * says why, and other sets are not affected. `error`: a bug in drover, to be counted; null if there is none.
 */
export function containedReplicaSetPlan(input: ReplicaSetInput): { plan: ReplicaSetPlan; error: Error | null } {
  const { deletionTimestamp } = input.set.metadata;
  const deep = tooDeep(input.set.spec.template);
  // Deleting a set needs no template.
  if (deep !== null && deletionTimestamp === undefined)
    return { plan: stalled(input, 'SpecRefused', deepTemplate(deep)), error: null };
  try {
    return { plan: planReplicaSet(input), error: null };
  } catch (error) {
    return { plan: stalled(input, 'DecisionFailed', noPlan('set', error as Error)), error: error as Error };
  }
}

/** Returns a plan that does nothing and reports why. */
function stalled(
  { set, vms, failure, uncertain, now }: ReplicaSetInput,
  reason: ConditionReason<'Stalled'>,
  message: string,
): ReplicaSetPlan {
  const conditions = stalledConditions(set, reason, message, new Date(now).toISOString());
  const { readyReplicas: ready = 0, writes = 0 } = set.status ?? {};
  const observedGeneration = set.metadata.generation ?? 0;
  return {
    steps: [],
    status:
      conditions === null
        ? null
        : { ...set.status, observedGeneration, replicas: vms.length, conditions, writes: writes + 1 },
    failure,
    phase: 'Failed',
    counts: { wanted: set.spec.replicas, present: vms.length, ready, byState: {} },
    uncertain: [...uncertain],
    wakeAt: now + AGAIN_MS,
  };
}
