import type { ConditionReason } from '../../api/reasons.ts';
import { failuresOf } from '../owners/failures.ts';
import { AGAIN_MS, contained, stalledConditions, type ContainedPlan } from '../owners/stalled.ts';
import type { ReplicaSetInput, VmiSetInput } from './plan-input.ts';
import { planVmiSet, planReplicaSet, type ReplicaSetPlan } from './plan.ts';

export type ContainedSetPlan = ContainedPlan<ReplicaSetPlan>;

export const containedReplicaSetPlan = (input: ReplicaSetInput): ContainedSetPlan =>
  containedSetPlan({ ...input, starts: null, present: input.vms.length }, () => planReplicaSet(input));

export const containedVmiSetPlan = (input: VmiSetInput): ContainedSetPlan =>
  containedSetPlan({ ...input, present: input.vmis.length }, () => planVmiSet(input));

type Known = Pick<VmiSetInput, 'set' | 'backoffs' | 'uncertain' | 'starts' | 'now'> & { present: number };

const containedSetPlan = (known: Known, plan: () => ReplicaSetPlan): ContainedSetPlan =>
  contained('set', known.set, { plan, stalled: (reason, message) => stalled(known, reason, message) });

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
    requeueAt: now + AGAIN_MS,
  };
}
