import { MAX_DEPTH, tooDeep } from '../../api/lib/depth.ts';
import type { Condition } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import type { StoredVmOwner } from '../views/owner.ts';
import { readinessConditions } from './readiness.ts';

const READINESS = new Set(['Ready', 'Reconciling', 'Stalled']);

const MESSAGE_LENGTH = 2_048;

const SHOWN_KEYS = 6;

/** When to plan again: the cause may pass without an event. */
export const AGAIN_MS = 60_000;

/** A plan, and the error if no plan could be made. */
export interface ContainedPlan<Plan> {
  plan: Plan;
  /** An error in a decision: a bug in drover, to be counted. Null if there is none, or if the spec is the cause. */
  error: Error | null;
}

/** How a pool or a set is planned: deleting one needs no template. `stalled` does nothing, and reports why. */
interface Planner<Plan> {
  plan: (isTooDeep: boolean) => Plan;
  stalled: (reason: ConditionReason<'Stalled'>, message: string) => Plan;
}

/**
 * Contains errors: if no plan can be made, nothing is done to the owner's VMs, the condition `Stalled` says why, and
 * other owners are not affected.
 */
export function contained<Plan>(
  what: 'pool' | 'set',
  { metadata, spec }: StoredVmOwner,
  { plan, stalled }: Planner<Plan>,
): ContainedPlan<Plan> {
  const deep = tooDeep(spec.template);
  if (deep !== null && metadata.deletionTimestamp === undefined)
    return { plan: stalled('InvalidTemplate', deepTemplate(deep)), error: null };
  try {
    return { plan: plan(deep !== null), error: null };
  } catch (error) {
    const { message } = error as Error;
    const sentence = `no plan could be made for this ${what}, and nothing is done to its VMs: ${message}`;
    return { plan: stalled('InternalError', sentence), error: error as Error };
  }
}

/** The sentence for a template that is nested too deep; `path` leads there. */
const deepTemplate = (path: readonly string[]): string =>
  `${['spec.template', ...path.slice(0, SHOWN_KEYS)].join('.')} is nested deeper than ${MAX_DEPTH} levels: ` +
  'the template is not supported';

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
