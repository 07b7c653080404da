import { proxyActivities } from '@temporalio/workflow';
import type { HealActivities } from '../../activities/healing/heal-vm.ts';
import type { Acted } from '../../activities/owners/try-each.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { CheckActivities } from '../../activities/rollout/checks/check-activities.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { MembersReport } from '../../decisions/membership/change.ts';
import { failureOf } from '../../decisions/owners/failures.ts';
import { HOUSEKEEPING, type HousekeepingKind } from '../../decisions/owners/housekeeping.ts';
import type { PoolStep } from '../../decisions/owners/steps.ts';
import type { Evacuations } from '../drain/evacuations.ts';
import {
  beginRemoval,
  runOperation,
  tidy,
  MANY_WRITES,
  FEW_WRITES,
  ON_VMS,
  type OwnerStepContext,
} from '../owners/steps.ts';
import type { Rollouts } from '../rollout/rollouts.ts';
import { beginArrival, isArrival } from './arrivals.ts';

const { deleteKeptDisks, unlabelKeptDisks, labelVms, unlabelVms, setRoles, removeDiskFinalizers, changeMembers } =
  proxyActivities<PoolActivities>(ON_VMS);
const { annotateRuns, clearNamedRemovals } = proxyActivities<PoolActivities & HealActivities>(MANY_WRITES);
/** A look counts from when it was planned: a late one is planned anew. */
const { lookAtCheck } = proxyActivities<CheckActivities>({
  startToCloseTimeout: '60s',
  scheduleToStartTimeout: '30s',
  heartbeatTimeout: '10s',
  retry: { maximumAttempts: 1 },
});
const { createRevision, deleteRevisions, keepReplicas } = proxyActivities<PoolActivities>(FEW_WRITES);

export interface StepContext extends OwnerStepContext {
  rollouts: Rollouts;
  evacuations: Evacuations;
  onMembersReport: (report: MembersReport) => void;
}

/** Begins a step, in as many operations as it needs, and returns at once: the operations report their ends. */
export function begin(step: PoolStep, context: StepContext): void {
  const { key, minVersions } = context;
  const { reason } = step;
  // The Web UI shows it next to the activity; Temporal accepts at most 200 bytes.
  const options = { summary: summary(reason) };
  if (isArrival(step)) return beginArrival(step, context);
  if (isHousekeeping(step)) return tidy(context, step.kind, reason, () => housekeep(step, context, options));
  switch (step.kind) {
    case 'delete':
    case 'halt':
    case 'release':
    case 'addFinalizer':
    case 'removeFinalizer':
    case 'recordUid':
      return beginRemoval(step, context);
    case 'deleteKeptDisks':
      if (context.inProgress.has('disks')) return;
      return runOperation({ kind: 'disks', names: [], reason }, context, failureOf(step)!, () =>
        deleteKeptDisks.executeWithOptions(options, [key, step.claims]),
      );
    case 'update':
      context.rollouts.begin(key, step, minVersions);
      return;
    case 'evacuate':
      return context.evacuations.begin(key, step, minVersions);
  }
}

type Housekeeping = Extract<PoolStep, { kind: HousekeepingKind }>;
const isHousekeeping = (step: PoolStep): step is Housekeeping => step.kind in HOUSEKEEPING;

/** Resolves to what a later plan must have seen, or to whether anything was done, if the step tells that. */
function housekeep(
  step: Housekeeping,
  { key, onMembersReport }: StepContext,
  options: { summary: string },
): Promise<ResourceVersions | Acted | void> {
  switch (step.kind) {
    case 'keepReplicas':
      return keepReplicas.executeWithOptions(options, [key]);
    case 'addLabels':
      return labelVms.executeWithOptions(options, [key, step.vms]);
    case 'removeLabels':
      return unlabelVms.executeWithOptions(options, [key, step.vms]);
    case 'setRoles':
      return setRoles.executeWithOptions(options, [key, step.vms]);
    case 'removeDiskFinalizers':
      return removeDiskFinalizers.executeWithOptions(options, [key, step.vms]);
    case 'changeMembers':
      return changeMembers.executeWithOptions(options, [key]).then(({ report, minVersions }) => {
        if (report !== null) onMembersReport(report);
        return minVersions;
      });
    case 'unlabelKeptDisks':
      return unlabelKeptDisks.executeWithOptions(options, [key, step.claims]);
    case 'createRevision':
      return createRevision.executeWithOptions(options, [key]);
    case 'clearNamedRemovals':
      return clearNamedRemovals.executeWithOptions(options, [key, step.vms]);
    case 'annotateRuns':
      return annotateRuns.executeWithOptions(options, [key, step.vms]);
    case 'lookAtCheck':
      return lookAtCheck.executeWithOptions(options, [key, step.at]);
    case 'deleteRevisions':
      return deleteRevisions.executeWithOptions(options, [key, step.revisions]);
  }
}
