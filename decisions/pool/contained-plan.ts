import { tooDeep } from '../../api/lib/depth.ts';
import type { PoolStatus } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { healingAsItIs } from '../healing/plan.ts';
import { stateFrom } from '../healing/state.ts';
import { failuresOf } from '../owners/failures.ts';
import { AGAIN_MS, deepTemplate, noPlan, stalledConditions } from '../owners/stalled.ts';
import { newRolloutState } from '../rollout/state/state.ts';
import { isRegular } from '../views/vm.ts';
import { withNewestState } from './newer-status.ts';
import type { PoolPlanInput } from './plan-input.ts';
import { planPool, type PoolPlan } from './plan.ts';

/** A plan, and the error if no plan could be made. */
interface ContainedPlan {
  plan: PoolPlan;
  /**
   * An error in a decision: a bug in drover, to be counted. Null if there is none, or if the pool's spec is the cause.
   */
  error: Error | null;
}

/**
 * Plans one pool. Contains errors: if no plan can be made, nothing is done to the pool's VMs, the condition `Stalled`
 * says why, and other pools are not affected.
 */
export function containedPlan(given: PoolPlanInput): ContainedPlan {
  const { input, isOverruled, cancel } = withNewestState(given);
  const contained = contain(input);
  if (!isOverruled) return contained;
  const { plan, error } = contained;
  const healing = { ...plan.healing, cancel: [...plan.healing.cancel, ...cancel] };
  return { plan: { ...plan, healing, isOverruled }, error };
}

function contain(input: PoolPlanInput): ContainedPlan {
  const { pool } = input;
  const deep = tooDeep(pool.spec.template);
  try {
    // Deleting a pool needs no template.
    if (deep !== null && pool.metadata.deletionTimestamp !== undefined) {
      const { drain: _drain, ...spec } = pool.spec;
      const template = { spec: {} } as typeof spec.template;
      return { plan: planPool({ ...input, pool: { ...pool, spec: { ...spec, template } } }), error: null };
    }
    if (deep === null) return { plan: planPool(input), error: null };
    return { plan: stalled(input, 'InvalidTemplate', deepTemplate(deep)), error: null };
  } catch (error) {
    return { plan: stalled(input, 'InternalError', noPlan('pool', error as Error)), error: error as Error };
  }
}

/** Returns a plan that does nothing and reports why. */
function stalled(
  { pool, vms, backoffs, rollout, healing, now }: PoolPlanInput,
  reason: ConditionReason<'Stalled'>,
  message: string,
): PoolPlan {
  const time = new Date(now).toISOString();
  const known: Partial<PoolStatus> = pool.status ?? {};
  const conditions = stalledConditions(pool, reason, message, time);
  const replicas = vms.filter((vm) => isRegular(vm) && !vm.deleting).length;
  const { mark: _, ...told } = healingAsItIs(healing ?? stateFrom(known.healing));
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
    healing: told,
    wakeAt: now + AGAIN_MS,
  };
}
