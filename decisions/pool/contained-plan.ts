import type { PoolStatus } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { healingAsItIs } from '../healing/plan.ts';
import { stateFrom } from '../healing/state.ts';
import { failuresOf } from '../owners/failures.ts';
import { AGAIN_MS, contained, stalledConditions, type ContainedPlan } from '../owners/stalled.ts';
import { newRolloutState } from '../rollout/state/state.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular, isSurge } from '../views/vm.ts';
import { withNewestState } from './newer-status.ts';
import type { PoolPlanInput } from './plan-input.ts';
import { planPool, type PoolPlan } from './plan.ts';

export function containedPlan(given: PoolPlanInput): ContainedPlan<PoolPlan> {
  const { input, isOverruled, cancel } = withNewestState(given);
  const { plan, error } = contained('pool', input.pool, {
    plan: (isTooDeep) => planPool(isTooDeep ? { ...input, pool: withoutTemplate(input.pool) } : input),
    stalled: (reason, message) => stalled(input, reason, message),
  });
  if (!isOverruled) return { plan, error };
  const healing = { ...plan.healing, cancel: [...plan.healing.cancel, ...cancel] };
  return { plan: { ...plan, healing, isOverruled }, error };
}

function withoutTemplate(pool: StoredPool): StoredPool {
  const { drain: _drain, ...spec } = pool.spec;
  return { ...pool, spec: { ...spec, template: { spec: {} } as typeof spec.template } };
}

function stalled(
  { pool, vms, backoffs, rollout, healing, now }: PoolPlanInput,
  reason: ConditionReason<'Stalled'>,
  message: string,
): PoolPlan {
  const time = new Date(now).toISOString();
  const known: Partial<PoolStatus> = pool.status ?? {};
  const conditions = stalledConditions(pool, reason, message, time);
  const replicas = vms.filter((vm) => isRegular(vm) && !vm.deleting).length;
  const { runRecords: _, ...rest } = healingAsItIs(healing ?? stateFrom(known.healing));
  const state = rollout ?? known.rollout ?? newRolloutState(known.updateRevision ?? '', time);
  return {
    steps: [],
    status:
      conditions === null
        ? null
        : {
            ...known,
            observedGeneration: pool.metadata.generation ?? 0,
            replicas,
            conditions,
            writes: (known.writes ?? 0) + 1,
          },
    failures: failuresOf(backoffs),
    phase: 'Failed',
    counts: {
      wanted: pool.spec.replicas,
      present: vms.filter(isRegular).length,
      ready: known.readyReplicas ?? 0,
      updated: known.updatedReplicas ?? 0,
      surge: vms.filter(isSurge).length,
      byState: {},
    },
    rollout: {
      state,
      phase: 'Failed',
      target: state.revision,
      current: known.currentRevision ?? state.revision,
      waits: [],
      superseded: [],
      lost: [],
    },
    healing: rest,
    requeueAt: now + AGAIN_MS,
  };
}
