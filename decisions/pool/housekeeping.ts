import type { HealingPlan } from '../healing/plan.ts';
import { formatNames } from '../lib/names.ts';
import { revisionsToPrune } from '../revisions/retained.ts';
import type { RolloutPlan } from '../rollout/plan.ts';
import type { VmView } from '../views/vm.ts';
import type { PoolPlanInput } from './plan-input.ts';
import type { PoolStep } from './steps.ts';

/** Returns the step that notes on VMs that they have run. */
export const markStep = (vms: HealingPlan['mark']): PoolStep => ({
  kind: 'annotateRuns',
  vms,
  reason: `note which of ${formatNames(vms.map(({ name }) => name))} have run`,
});

/** Whether the VM exists and is not about to leave. */
export const isStayingOn = (vm: VmView | undefined): boolean => vm !== undefined && !vm.deleting && !vm.removing;

/** Returns the step that keeps the newest revision, or else forgets revisions that nothing uses. */
export function tidyRevisions(
  { pool, vms, vmiOf, revisions, keptClaims = [] }: PoolPlanInput,
  { target, current, newest, state }: RolloutPlan,
): PoolStep[] {
  // Someone may have deleted the newest revision.
  const isKept = revisions.some(({ revision }) => revision === newest);
  if (!isKept && vms.some(({ revision }) => revision === newest))
    return [{ kind: 'createRevision', reason: `keep the template of revision ${newest}` }];
  const inUse = [
    target,
    current,
    state.revision,
    ...vms.flatMap((vm) => [vm.revision, vmiOf(vm)?.revision ?? null]),
    ...keptClaims.map(({ kept }) => kept.revision),
  ];
  const names = revisionsToPrune(pool, revisions, new Set(inUse));
  return names.length === 0
    ? []
    : [{ kind: 'deleteRevisions', revisions: names, reason: `forget ${names.length} revisions that nothing uses` }];
}
