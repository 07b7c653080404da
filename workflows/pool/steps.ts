import { proxyActivities } from '@temporalio/workflow';
import type { EvacuationActivities } from '../../activities/drain/evacuate.ts';
import type { HealActivities } from '../../activities/healing/heal-vm.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { CheckActivities } from '../../activities/rollout/checks/check-activities.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { MembersReport } from '../../decisions/membership/change.ts';
import { failureOf } from '../../decisions/owners/failures.ts';
import type { PoolStep } from '../../decisions/owners/steps.ts';
import type { Evacuations } from '../drain/evacuations.ts';
import { carryOut, isMembersStep } from '../membership/steps.ts';
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
/** A look counts from when it was planned: a late one is planned anew. */
const { lookAtCheck } = proxyActivities<CheckActivities>({
  startToCloseTimeout: '60s',
  scheduleToStartTimeout: '30s',
  heartbeatTimeout: '10s',
  retry: { maximumAttempts: 1 },
});
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
  // The Web UI shows it next to the activity; Temporal accepts at most 200 bytes.
  const words = { summary: summary(reason) };
  if (isArrival(step)) return beginArrival(step, context);
  if (isMembersStep(step))
    return tidy(context, step.kind, reason, () => carryOut(step, key, words, context.onMembersReport));
  if (isTidied(step)) return tidy(context, step.kind, reason, tidying(step, context, words));
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
    case 'update':
      context.rollouts.begin(key, step, minVersions);
      return;
    case 'evacuate':
      return context.evacuations.begin(key, step, minVersions);
  }
}

const TIDIED = [
  'unmarkKeptDisks',
  'updatePodDisruptionBudget',
  'createRevision',
  'clearNamedRemovals',
  'annotateRuns',
  'lookAtCheck',
  'deleteRevisions',
] as const;
type Tidied = Extract<PoolStep, { kind: (typeof TIDIED)[number] }>;
const isTidied = (step: PoolStep): step is Tidied => TIDIED.some((kind) => kind === step.kind);

/** What carries out housekeeping of a pool. */
function tidying(
  step: Tidied,
  { key, minVersions }: StepContext,
  words: { summary: string },
): Parameters<typeof tidy>[3] {
  switch (step.kind) {
    case 'unmarkKeptDisks':
      return () => unmarkKeptDisks.executeWithOptions(words, [key, step.claims]);
    case 'updatePodDisruptionBudget':
      return () => updatePodDisruptionBudget.executeWithOptions(words, [key, minVersions]);
    case 'createRevision':
      return () => createRevision.executeWithOptions(words, [key]);
    case 'clearNamedRemovals':
      return () => clearNamedRemovals.executeWithOptions(words, [key, step.vms]);
    case 'annotateRuns':
      return () => annotateRuns.executeWithOptions(words, [key, step.vms]);
    case 'lookAtCheck':
      return () => lookAtCheck.executeWithOptions(words, [key, step.at]);
    case 'deleteRevisions':
      return () => deleteRevisions.executeWithOptions(words, [key, step.revisions]);
  }
}
