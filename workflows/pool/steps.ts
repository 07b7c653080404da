import { proxyActivities } from '@temporalio/workflow';
import type { EvacuationActivities } from '../../activities/drain/evacuate.ts';
import type { HealActivities } from '../../activities/healing/heal-vm.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { MembersReport } from '../../decisions/membership/change.ts';
import { failureOf } from '../../decisions/owners/failures.ts';
import type { PoolStep } from '../../decisions/owners/steps.ts';
import type { Evacuations } from '../drain/evacuations.ts';
import { carryOut, isOfMembers } from '../membership/steps.ts';
import {
  beginKeptReplicas,
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

const { deleteKeptDisks, unmarkKeptDisks } = proxyActivities<PoolActivities>(ON_VMS);
const { annotateRuns, clearNamedRemovals } = proxyActivities<PoolActivities & HealActivities>(MANY_WRITES);
const { createRevision, deleteRevisions, updatePodDisruptionBudget } = proxyActivities<
  PoolActivities & EvacuationActivities
>(FEW_WRITES);

export interface StepContext extends OwnerStepContext {
  rollouts: Rollouts;
  evacuations: Evacuations;
  onMembersReport: (report: MembersReport) => void;
}

/** Begins a step, in as many operations as it needs, and returns at once: the operations report their ends. */
export function begin(step: PoolStep, context: StepContext): void {
  const { key, minVersions } = context;
  const { reason } = step;
  // The Web UI shows it beside the activity; Temporal accepts at most 200 bytes.
  const words = { summary: summary(reason) };
  if (isArrival(step)) return beginArrival(step, context);
  if (isOfMembers(step))
    return tidy(context, step.kind, reason, () => carryOut(step, key, words, context.onMembersReport));
  switch (step.kind) {
    case 'delete':
    case 'halt':
    case 'release':
    case 'addFinalizer':
    case 'removeFinalizer':
    case 'noteUid':
      return beginRemoval(step, context);
    case 'keepReplicas':
      return beginKeptReplicas(step, context);
    case 'deleteKeptDisks':
      if (context.inProgress.has('disks')) return;
      return runOperation({ kind: 'disks', names: [], reason }, context, failureOf(step)!, () =>
        deleteKeptDisks.executeWithOptions(words, [key, step.claims]),
      );
    case 'unmarkKeptDisks':
      return tidy(context, step.kind, reason, () => unmarkKeptDisks.executeWithOptions(words, [key, step.claims]));
    case 'update':
      context.rollouts.begin(key, step, minVersions);
      return;
    case 'evacuate':
      return context.evacuations.begin(key, step, minVersions);
    case 'updatePodDisruptionBudget':
      return tidy(context, step.kind, reason, () =>
        updatePodDisruptionBudget.executeWithOptions(words, [key, minVersions]),
      );
    case 'createRevision':
      return tidy(context, step.kind, reason, () => createRevision.executeWithOptions(words, [key]));
    case 'clearNamedRemovals':
      return tidy(context, step.kind, reason, () => clearNamedRemovals.executeWithOptions(words, [key, step.vms]));
    case 'annotateRuns':
      return tidy(context, step.kind, reason, () => annotateRuns.executeWithOptions(words, [key, step.vms]));
    case 'deleteRevisions':
      return tidy(context, step.kind, reason, () => deleteRevisions.executeWithOptions(words, [key, step.revisions]));
  }
}
