import { unlabelStep } from '../disks/reuse.ts';
import type { DrainPlan } from '../drain/plan.ts';
import { drainSteps } from '../drain/pool-drain.ts';
import type { HealingPlan } from '../healing/plan.ts';
import { formatNames } from '../lib/names.ts';
import { labelSteps } from '../membership/labels.ts';
import type { Restore } from '../membership/restore.ts';
import type { Returned } from '../membership/returned.ts';
import { keptReplicas } from '../owners/kept-replicas.ts';
import type { PoolStep } from '../owners/steps.ts';
import type { RolloutPlan } from '../rollout/plan.ts';
import type { SurgeSteps } from '../rollout/surge/steps.ts';
import type { ScalePlan } from '../scaling/plan.ts';
import { revisionsToPrune } from '../template/kept-revisions.ts';
import type { VmView } from '../views/vm.ts';
import type { PoolContext } from './context.ts';
import { withKeptDisks } from './member-steps.ts';

/** What the capabilities of a pool have decided. */
export interface Decided {
  healing: HealingPlan;
  returned: Returned;
  restore: Restore;
  scaling: ScalePlan;
  drain: DrainPlan;
  rollout: RolloutPlan;
  surge: SurgeSteps;
  roles: { steps: readonly PoolStep[] };
}

/** What is due, and `whenIdle`: what is to be done only while there is nothing else to do. */
export interface AllSteps {
  steps: PoolStep[];
  whenIdle: () => PoolStep[];
}

/** Returns all steps that are due, housekeeping last. */
export function allSteps(context: PoolContext, decided: Decided): AllSteps {
  const { pool, vms, batches, uncontrolled = [], keptClaims, membership } = context;
  const { rollout, healing, returned, restore, roles } = decided;
  const steps = [...returned.steps, ...withKeptDisks(context, decided.scaling.steps, rollout)];
  steps.push(...drainSteps(decided.drain));
  if (rollout.update !== null && !steps.some((step) => step.kind === 'addFinalizer'))
    steps.push({ kind: 'update', ...rollout.update });
  steps.push(...decided.surge.steps);
  if (healing.runRecords.length > 0) steps.push(recordStep(healing.runRecords));
  const labelling = labelSteps({ pool, vms, uncontrolled });
  if (pool.metadata.deletionTimestamp !== undefined) {
    const ending = labelling.length === 0 ? steps : steps.filter(({ kind }) => kind !== 'removeFinalizer');
    return { steps: [...ending, ...labelling], whenIdle: () => [] };
  }
  if (rollout.look !== null) steps.push({ kind: 'lookAtCheck', at: context.now, reason: rollout.look });
  steps.push(...keptReplicas(pool), ...labelling, ...roles.steps, ...membership.steps, ...restore.steps);
  const whenIdle = (): PoolStep[] => {
    const staying = new Map(vms.filter(isStayingOn).map((vm) => [vm.name, vm]));
    const tidied = batches.length === 0 ? tidyRevisions(context, rollout) : [];
    return [...unlabelStep(pool, keptClaims, (name) => staying.get(name)), ...tidied];
  };
  return { steps, whenIdle };
}

const recordStep = (vms: HealingPlan['runRecords']): PoolStep => ({
  kind: 'annotateRuns',
  vms,
  reason: `note which of ${formatNames(vms.map(({ name }) => name))} have run`,
});

/** Whether the VM exists and is not about to leave. */
const isStayingOn = (vm: VmView | undefined): boolean => vm !== undefined && !vm.deleting && !vm.removing;

/** Returns the step that keeps the newest revision, or else forgets revisions that nothing uses. */
function tidyRevisions(
  { pool, vms, uncontrolled = [], vmiOf, revisions, keptClaims }: PoolContext,
  { target, current, newest, state }: RolloutPlan,
): PoolStep[] {
  const own = revisions.find(({ revision }) => revision === newest);
  // A template that was undone to is numbered anew at once, also if the rollout waits.
  const isOutnumbered = own !== undefined && revisions.some(({ number }) => number > own.number);
  // Someone may have deleted the newest revision.
  const isLost = own === undefined && vms.some(({ revision }) => revision === newest);
  if (isOutnumbered || isLost) return [{ kind: 'createRevision', reason: `keep the template of revision ${newest}` }];
  const inUse = [
    target,
    current,
    state.revision,
    ...vms.flatMap((vm) => [vm.revision, vmiOf(vm)?.revision ?? null]),
    // Those of VMs that come back from a backup are adopted before these.
    ...uncontrolled.map(({ revision }) => revision),
    ...keptClaims.map(({ kept }) => kept.revision),
  ];
  const names = revisionsToPrune(pool, revisions, new Set(inUse));
  return names.length === 0
    ? []
    : [{ kind: 'deleteRevisions', revisions: names, reason: `forget ${names.length} revisions that nothing uses` }];
}
