import type { PoolStatus } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { healingStatus } from '../healing/conditions.ts';
import { healingAsItIs } from '../healing/plan.ts';
import { saysTheSame } from '../lib/canonical-json.ts';
import { failuresOf } from '../owners/failures.ts';
import { AGAIN_MS, contained, stalledConditions, type ContainedPlan } from '../owners/stalled.ts';
import { newRolloutState } from '../rollout/state/state.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular, isSurge } from '../views/vm.ts';
import { onRecord, type GivenInput } from './on-record.ts';
import type { PoolPlanInput } from './plan-input.ts';
import { planPool, type PoolPlan } from './plan.ts';

export function containedPlan(given: GivenInput): ContainedPlan<PoolPlan> {
  const { input, lost, cancel } = onRecord(given);
  const { plan, error } = contained('pool', input.pool, {
    plan: (isTooDeep) => planPool(isTooDeep ? { ...input, pool: withoutTemplate(input.pool) } : input),
    stalled: (reason, message) => stalled(input, reason, message),
  });
  const healing = { ...plan.healing, cancel: [...plan.healing.cancel, ...cancel] };
  const rollout = { ...plan.rollout, lost: [...plan.rollout.lost, ...lost] };
  return { plan: { ...plan, rollout, healing }, error };
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
  const { runRecords: _, ...rest } = healingAsItIs(healing);
  const state = rollout ?? newRolloutState(known.updateRevision ?? '', time);
  // What the workflow was told is recorded all the same.
  const record = { ...known, ...(rollout && { rollout }), ...(known.healing && { healing: healingStatus(rest) }) };
  return {
    steps: [],
    status:
      conditions === null && saysTheSame(known, record)
        ? null
        : {
            ...record,
            observedGeneration: pool.metadata.generation ?? 0,
            replicas,
            ...(conditions && { conditions }),
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
