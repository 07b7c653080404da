import type { KeptClaim } from '../disks/kept-claims.ts';
import { createSteps, type ReuseInput } from '../disks/reuse.ts';
import type { HealingPlan } from '../healing/plan.ts';
import { cyclesOf, heldBack, toBeMade } from '../healing/state.ts';
import { poolRestore } from '../membership/restore.ts';
import { returnedVms } from '../membership/returned.ts';
import type { Backoffs } from '../owners/failures.ts';
import type { PoolStep } from '../owners/steps.ts';
import type { RolloutPlan } from '../rollout/plan.ts';
import type { ReservedNames } from '../rollout/reserved-names.ts';
import { isGoingBack } from '../rollout/state/state.ts';
import { namedAmong, type NamedRemovals } from '../scaling/named-removals.ts';
import { planDeletion, planScale, type ScalePlan } from '../scaling/plan.ts';
import type { ScaleStep } from '../scaling/scale-input.ts';
import { surgeSteps, type SurgeSteps } from '../surge/steps.ts';
import { revisionOf } from '../template/revision.ts';
import { poolTemplate } from '../template/template.ts';
import { prepared, withReturned } from './allowances.ts';
import type { PoolPlanInput } from './plan-input.ts';

export type Healing = Pick<HealingPlan, 'state' | 'cancel'>;

/** What decides on the members of a pool besides the pool and its VMs. */
interface BesideMembers {
  inBatches: ReservedNames;
  healing: Healing;
  removals: NamedRemovals;
  /** Kept disks, by the numbers of the VMs that they wait for. */
  kept: ReadonlyMap<number, KeptClaim[]>;
}

/** Names of VMs that are healed. The attempt of a cycle that has just ended may still be deleting its VM. */
export const sickVms = ({ state, cancel }: Healing): string[] => [...state.cycles, ...cancel].map(({ vm }) => vm);

/** Plans which members come and go, extra ones aside. */
export function scalingOf(
  input: PoolPlanInput,
  { inBatches: { pendingCreates, pendingNonReplicas }, healing, removals, kept }: BesideMembers,
): ScalePlan {
  const scale = {
    ...input,
    held: new Set(heldBack(healing.state)),
    pendingCreates,
    pendingNonReplicas: new Set([...pendingNonReplicas, ...heldBack(cyclesOf(healing.state, 'Standby'))]),
    sick: new Set(sickVms(healing)),
    first: toBeMade(cyclesOf(healing.state)),
    firstStandby: toBeMade(cyclesOf(healing.state, 'Standby')),
    lowest: kept.has(0) ? 0 : 1,
    target: targetOfScaling(input),
    removals,
  };
  return input.pool.metadata.deletionTimestamp === undefined ? planScale(scale) : planDeletion(scale);
}

/** The revision that VMs were being brought to until now. This plan's rollout starts from what scaling leaves. */
function targetOfScaling({ pool, rollout }: PoolPlanInput): string {
  const newest = revisionOf(poolTemplate(pool.spec));
  return isGoingBack(rollout ?? pool.status?.rollout ?? {}) ? (pool.status?.currentRevision ?? newest) : newest;
}

/** Names of VMs that leave by these steps, and of those that people have named. */
export const leavingNames = (
  { vms }: PoolPlanInput,
  { removals }: Pick<BesideMembers, 'removals'>,
  steps: readonly ScaleStep[],
): string[] =>
  [...vms.filter(namedAmong(removals)), ...steps.flatMap((step) => ('vms' in step ? step.vms : []))].map(
    ({ name }) => name,
  );

/** Plans which extra VMs come and go, as `rollout` has a use for them. */
export const surgeOf = (
  input: PoolPlanInput,
  { healing, kept, removals }: BesideMembers,
  { surge: need }: Pick<RolloutPlan, 'surge'>,
  scaleSteps: readonly ScaleStep[],
): SurgeSteps =>
  surgeSteps({
    ...input,
    need,
    scaleSteps,
    leaving: leavingNames(input, { removals }, scaleSteps),
    reserved: sickVms(healing),
    hasKeptDisks: (number) => kept.has(number),
  });

/** The steps by which VMs come, as kept disks have them. */
export const withKeptDisks = (steps: readonly ScaleStep[], reuse: ReuseInput): PoolStep[] =>
  steps.flatMap((step): PoolStep[] => (step.kind === 'create' ? createSteps(step, reuse) : [step]));

/** Returns all steps that members are due for, if nothing but these back-offs holds them back. */
export function dueSteps(
  given: PoolPlanInput,
  backoffs: Backoffs,
  beside: BesideMembers & { rollout: Pick<RolloutPlan, 'surge'>; reuse: ReuseInput },
): PoolStep[] {
  const unlimited = prepared({ ...given, backoffs, burst: Infinity });
  const returned = returnedVms(unlimited);
  const input = withReturned(unlimited, returned);
  const { steps, deferred } = scalingOf(input, beside);
  return [
    ...returned.steps,
    ...poolRestore(unlimited).steps,
    ...withKeptDisks([...steps, ...deferred], beside.reuse),
    ...surgeOf(input, beside, beside.rollout, steps).steps,
  ];
}
