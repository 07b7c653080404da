import { formatNames } from '../lib/names.ts';
import { membershipChangeOf } from '../membership/change.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import type { EvacuationTarget, PoolStep } from '../owners/steps.ts';
import { planDrain, type DrainInput, type DrainPlan } from './plan.ts';

export const MEMBERS_CHANGE = 'the members of its pool are changing';

interface BesideDrain {
  /** VMs that leave the pool. */
  leaving: readonly string[];
  /** VMs that a batch of an update works on. */
  updating: Iterable<string>;
}

/** Plans the drain of a pool along with everything else that is done to its VMs. */
export function drainOfPool(
  input: Omit<DrainInput, 'acting' | 'busy' | 'refusals'> &
    Partial<Pick<DrainInput, 'refusals'>> &
    Pick<PlanInput, 'inProgress'>,
  { leaving, updating }: BesideDrain,
): DrainPlan {
  const busy = new Map<string, string>();
  if (membershipChangeOf(input.pool) !== null) for (const { name } of input.vms) busy.set(name, MEMBERS_CHANGE);
  for (const name of updating) busy.set(name, 'an update of it is in progress');
  for (const name of leaving) busy.set(name, 'it leaves the pool');
  const { evacuating = [] } = input.inProgress;
  return planDrain({ ...input, acting: evacuating, busy, refusals: input.refusals ?? [] });
}

const namesOf = (vms: readonly EvacuationTarget[]): string => formatNames(vms.map(({ name }) => name));

/** The steps that begin with these VMs. */
export function drainSteps({ evacuate }: DrainPlan): PoolStep[] {
  const cancelled = evacuate.filter(({ act }) => act === 'cancel');
  const moved = evacuate.filter(({ act }) => act !== 'cancel');
  const nodes = formatNames([...new Set(moved.map(({ node }) => node))]);
  const steps = [
    { kind: 'evacuate', vms: moved, reason: `move ${namesOf(moved)} off ${nodes}` } as const,
    {
      kind: 'evacuate',
      vms: cancelled,
      reason: `cancel migrations that KubeVirt does not begin: ${namesOf(cancelled)}`,
    } as const,
  ];
  return steps.filter(({ vms }) => vms.length > 0);
}

/** Names of VMs that are being moved, whether or not the cluster shows that yet. */
export const evacuatingNames = ({ statuses }: DrainPlan): string[] =>
  statuses.flatMap(({ vm, state }) => (state === 'Evacuating' ? [vm] : []));
