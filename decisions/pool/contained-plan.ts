import { MAX_DEPTH, tooDeep } from '../../api/lib/depth.ts';
import type { Condition, PoolStatus } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { stateFrom } from '../healing/state.ts';
import { begun } from '../rollout/state.ts';
import { readinessConditions } from '../status/readiness.ts';
import type { StoredVmOwner } from '../views/owner.ts';
import { isRegular } from '../views/vm.ts';
import { failuresOf } from './failures.ts';
import { withNewestState } from './newer-status.ts';
import type { PoolPlanInput } from './plan-input.ts';
import { planPool, type PoolPlan } from './plan.ts';

/** A plan, and the error if no plan could be made. */
export interface ContainedPlan {
  plan: PoolPlan;
  /**
   * An error in a decision: a bug in drover, to be counted. Null if there is none, or if the pool's spec is the cause.
   */
  error: Error | null;
}

const READINESS = new Set(['Ready', 'Reconciling', 'Stalled']);
const MESSAGE_LENGTH = 2_048;
const SHOWN_KEYS = 6;
/** When to plan again: the cause may pass without an event. */
export const AGAIN_MS = 60_000;

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

/** The sentence for a template that is nested too deep; `path` leads there. */
export const deepTemplate = (path: readonly string[]): string =>
  `${['spec.template', ...path.slice(0, SHOWN_KEYS)].join('.')} is nested deeper than ${MAX_DEPTH} levels: ` +
  'the template is not supported';

/** The sentence for an error in a decision. */
export const noPlan = (what: 'pool' | 'set', { message }: Error): string =>
  `no plan could be made for this ${what}, and nothing is done to its VMs: ${message}`;

/** Returns the conditions of an owner for which nothing can be done; null if its status has them already. */
export function stalledConditions(
  { metadata, status }: StoredVmOwner & { status?: { observedGeneration?: number } },
  reason: ConditionReason<'Stalled'>,
  message: string,
  now: string,
): Condition[] | null {
  const readiness = { state: 'Stalled', reason, message: message.slice(0, MESSAGE_LENGTH) } as const;
  const own = readinessConditions({ metadata, ...(status && { status }) }, readiness, now);
  const { conditions = [], observedGeneration } = status ?? {};
  const isSaid = own.every(({ type, message: said }) =>
    conditions.some((one) => one.type === type && one.message === said && one.reason === reason),
  );
  if (isSaid && observedGeneration === metadata.generation) return null;
  return [...own, ...conditions.filter(({ type }) => !READINESS.has(type))];
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
  const state = rollout ?? known.rollout ?? begun(known.updateRevision ?? '', time);
  return {
    steps: [],
    status:
      conditions === null
        ? null
        : { ...known, observedGeneration: pool.metadata.generation ?? 0, replicas, conditions },
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
    healing: {
      state: healing ?? stateFrom(known.healing),
      begin: [],
      cancel: [],
      events: [],
      suspended: null,
      notReplaced: [],
      notListed: 0,
      wakeAt: null,
    },
    wakeAt: now + AGAIN_MS,
  };
}
