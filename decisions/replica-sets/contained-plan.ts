import { tooDeep } from '../../api/lib/depth.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { failuresOf } from '../owners/failures.ts';
import { AGAIN_MS, deepTemplate, noPlan, stalledConditions } from '../owners/stalled.ts';
import type { ReplicaSetInput, VmiSetInput } from './plan-input.ts';
import { planVmiSet, planReplicaSet, type ReplicaSetPlan } from './plan.ts';

/** `error`: a bug in drover, to be counted; null if there is none. */
export interface ContainedSetPlan {
  plan: ReplicaSetPlan;
  error: Error | null;
}

/**
 * Plans one set of VMs. Contains errors: if no plan can be made, nothing is done to the set's VMs, the condition
 * `Stalled` says why, and other sets are not affected.
 */
export const containedReplicaSetPlan = (input: ReplicaSetInput): ContainedSetPlan =>
  contained({ ...input, starts: null, present: input.vms.length }, () => planReplicaSet(input));

/** Plans one set of VMIs, and contains errors as well. */
export const containedVmiSetPlan = (input: VmiSetInput): ContainedSetPlan =>
  contained({ ...input, present: input.vmis.length }, () => planVmiSet(input));

type Known = Pick<VmiSetInput, 'set' | 'backoffs' | 'uncertain' | 'starts' | 'now'> & { present: number };

function contained(known: Known, plan: () => ReplicaSetPlan): ContainedSetPlan {
  const { metadata, spec } = known.set;
  const deep = tooDeep(spec.template);
  // Deleting a set needs no template.
  if (deep !== null && metadata.deletionTimestamp === undefined)
    return { plan: stalled(known, 'InvalidTemplate', deepTemplate(deep)), error: null };
  try {
    return { plan: plan(), error: null };
  } catch (error) {
    return { plan: stalled(known, 'InternalError', noPlan('set', error as Error)), error: error as Error };
  }
}

/** Returns a plan that does nothing and reports why. */
function stalled(
  { set, present, backoffs, uncertain, starts, now }: Known,
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
        : { ...set.status, observedGeneration, replicas: present, conditions, writes: writes + 1 },
    events: [],
    failures: failuresOf(backoffs),
    phase: 'Failed',
    counts: { wanted: set.spec.replicas, present, ready, byState: {} },
    uncertain: [...uncertain],
    starts,
    wakeAt: now + AGAIN_MS,
  };
}
