import { formatNames } from '../lib/names.ts';
import { membershipChangeOf } from '../membership/change.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import type { PoolStep } from '../owners/steps.ts';
import { planDrain, type DrainInput, type DrainPlan } from './plan.ts';
import { podBudgetSteps, type PodBudgetInput } from './pod-budget.ts';

export const MEMBERS_CHANGE = 'the members of its pool are changing';

interface BesideDrain {
  /** VMs that leave the pool. */
  leaving: readonly string[];
  /** VMs that a batch of an update works on. */
  updating: Iterable<string>;
}

/** Plans the drain of a pool beside all else that is done to its VMs. */
export function drainOfPool(
  input: Omit<DrainInput, 'acting' | 'busy' | 'refusals'> &
    Partial<Pick<DrainInput, 'refusals'>> &
    Pick<PlanInput, 'inProgress'>,
  { leaving, updating }: BesideDrain,
): DrainPlan {
  const busy = new Map<string, string>();
  if (membershipChangeOf(input.pool) !== null) for (const { name } of input.vms) busy.set(name, MEMBERS_CHANGE);
  for (const name of updating) busy.set(name, 'an update works on it');
  for (const name of leaving) busy.set(name, 'it leaves the pool');
  const { evacuating = [] } = input.inProgress;
  return planDrain({ ...input, acting: evacuating, busy, refusals: input.refusals ?? [] });
}

/** The steps that begin with these VMs, and have the pool's PodDisruptionBudget be as it should. */
export function drainSteps({ evacuate }: DrainPlan, input: PodBudgetInput): PoolStep[] {
  const guards = podBudgetSteps(input);
  if (evacuate.length === 0) return guards;
  const nodes = formatNames([...new Set(evacuate.map(({ node }) => node))]);
  const names = formatNames(evacuate.map(({ name }) => name));
  return [{ kind: 'evacuate', vms: evacuate, reason: `move ${names} off ${nodes}` }, ...guards];
}

/** Names of VMs that are being moved, whether or not the cluster shows that yet. */
export const evacuatingNames = ({ statuses }: DrainPlan): string[] =>
  statuses.flatMap(({ vm, state }) => (state === 'Evacuating' ? [vm] : []));
