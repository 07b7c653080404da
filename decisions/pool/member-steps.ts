import { stepsWithReuse } from '../disks/reuse.ts';
import type { HealingPlan } from '../healing/plan.ts';
import { cyclesOf, reservedByHealing, toBeMade } from '../healing/state.ts';
import { poolRestore } from '../membership/restore.ts';
import { returnedVms } from '../membership/returned.ts';
import type { PoolStep } from '../owners/steps.ts';
import type { RolloutPlan } from '../rollout/plan.ts';
import { isGoingBack } from '../rollout/state/state.ts';
import { surgeSteps, type SurgeSteps } from '../rollout/surge/steps.ts';
import { planDeletion, planScale, type ScalePlan } from '../scaling/plan.ts';
import type { ScaleStep } from '../scaling/scale-input.ts';
import { revisionOf } from '../template/revision.ts';
import { poolTemplate } from '../template/template.ts';
import { namedAmong } from '../views/annotations/named-vms.ts';
import { withReturned, type PoolContext } from './context.ts';

type Healing = Pick<HealingPlan, 'state' | 'cancel'>;

/** Names of VMs that are healed. The attempt of a cycle that has just ended may still be deleting its VM. */
export const unhealthyVms = ({ state, cancel }: Healing): string[] => [...state.cycles, ...cancel].map(({ vm }) => vm);

/** Plans which members come and go, extra ones aside. */
export function scalingOf(context: PoolContext, healing: Healing, burstToFinish = context.burst): ScalePlan {
  const { pendingCreates, pendingNonReplicas } = context.inBatches;
  const scale = {
    ...context,
    reserved: new Set(reservedByHealing(healing.state)),
    pendingCreates,
    pendingNonReplicas: new Set([...pendingNonReplicas, ...reservedByHealing(cyclesOf(healing.state, 'Standby'))]),
    unhealthy: new Set(unhealthyVms(healing)),
    first: toBeMade(cyclesOf(healing.state)),
    firstStandby: toBeMade(cyclesOf(healing.state, 'Standby')),
    lowest: context.kept.has(0) ? 0 : 1,
    target: targetOfScaling(context),
    burstToFinish,
  };
  return context.pool.metadata.deletionTimestamp === undefined ? planScale(scale) : planDeletion(scale);
}

/** The revision that VMs were being brought to until now. This plan's rollout starts from what scaling leaves. */
function targetOfScaling({ pool, rollout }: PoolContext): string {
  const newest = revisionOf(poolTemplate(pool.spec));
  return isGoingBack(rollout ?? {}) ? (pool.status?.currentRevision ?? newest) : newest;
}

/** Names of VMs that leave by these steps, and of VMs that users have named. */
export const leavingNames = ({ vms, removals }: PoolContext, steps: readonly ScaleStep[]): string[] =>
  [...vms.filter(namedAmong(removals)), ...steps.flatMap((step) => ('vms' in step ? step.vms : []))].map(
    ({ name }) => name,
  );

/** Plans which extra VMs come and go, as the rollout has a use for them. */
export const surgeOf = (
  context: PoolContext,
  healing: Healing,
  { surge: need }: Pick<RolloutPlan, 'surge'>,
  scaleSteps: readonly ScaleStep[],
): SurgeSteps =>
  surgeSteps({
    ...context,
    need,
    scaleSteps,
    leaving: leavingNames(context, scaleSteps),
    reserved: unhealthyVms(healing),
    hasKeptDisks: (number) => context.kept.has(number),
  });

/** The steps by which VMs come, as kept disks have them. */
export const withKeptDisks = (
  context: PoolContext,
  steps: readonly ScaleStep[],
  { forNewVms: revision }: Pick<RolloutPlan, 'forNewVms'>,
): PoolStep[] =>
  steps.flatMap((step): PoolStep[] =>
    step.kind === 'create' ? stepsWithReuse(step, { ...context, revision }) : [step],
  );

/** Returns all steps that members are due for, if nothing but the back-offs of `unlimited` holds them back. */
export function dueSteps(
  unlimited: PoolContext,
  { healing, rollout }: { healing: Healing; rollout: Pick<RolloutPlan, 'surge' | 'forNewVms'> },
): PoolStep[] {
  const returned = returnedVms(unlimited);
  const context = withReturned(unlimited, returned);
  const { steps, deferred } = scalingOf(context, healing);
  return [
    ...returned.steps,
    ...poolRestore(unlimited).steps,
    ...withKeptDisks(context, [...steps, ...deferred], rollout),
    ...surgeOf(context, healing, rollout, steps).steps,
  ];
}
