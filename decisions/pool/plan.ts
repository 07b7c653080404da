import type { PoolStatus } from '../../api/pool/pool.ts';
import { olderContent, type OlderContent } from '../configuration/older-content.ts';
import { claimsRequeue, hasOnlyReleasedClaims } from '../disruption-budget/claims.ts';
import { drainingMessage } from '../drain/condition.ts';
import { drainOfPool, evacuatingNames } from '../drain/pool-drain.ts';
import { healingAsItIs, planHealing, type HealingPlan } from '../healing/plan.ts';
import { isGivenUp } from '../healing/state.ts';
import { isActive, isReady } from '../health/availability.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import { isReleasing } from '../membership/change.ts';
import { unlabelledMembers } from '../membership/labels.ts';
import { poolRestore } from '../membership/restore.ts';
import { returnedVms } from '../membership/returned.ts';
import { roleSteps } from '../membership/roles.ts';
import { endedEvent } from '../notices/ended-event.ts';
import { noticeEvents, poolNotices } from '../notices/notices.ts';
import { byState, type OwnerCounts } from '../owners/counts.ts';
import type { OwnerEvent } from '../owners/events.ts';
import { openFailures, withoutDelayed, type Backoffs, type Failure } from '../owners/failures.ts';
import type { PoolStep } from '../owners/steps.ts';
import { planRollout, type RolloutPlan } from '../rollout/plan.ts';
import { isOver, unverifiedRevision, withFirstAvailable } from '../rollout/unverified-revision.ts';
import { poolAvailability } from '../scaling/available-condition.ts';
import type { ScalePlan } from '../scaling/plan.ts';
import { isRegular, isSurge } from '../views/vm.ts';
import { allSteps, type AllSteps, type Decided } from './all-steps.ts';
import { contextOf, withReturned, type PoolContext } from './context.ts';
import { withHealingRequest } from './healing-request.ts';
import { dueSteps, leavingNames, scalingOf, unhealthyVms, surgeOf } from './member-steps.ts';
import { phaseOf, type PoolPhase } from './phase.ts';
import type { PoolPlanInput } from './plan-input.ts';
import { requestEvents } from './request-events.ts';
import { isStatusCurrent, poolStatus } from './status.ts';

interface PoolCounts extends OwnerCounts {
  updated: number;
  /** Extra VMs. */
  surge: number;
}

export interface PoolPlan {
  steps: PoolStep[];
  /** The status to write; null if the stored one is up to date. */
  status: PoolStatus | null;
  /** The failures that still stand. */
  failures: Failure[];
  /** About what the status says that the stored one does not; absent if there are none. */
  events?: OwnerEvent[];
  phase: PoolPhase;
  counts: PoolCounts;
  /** Why VMs stay that are too many; absent if there are none. */
  blocked?: string;
  /** Which VMs are to leave nodes that are drained, and how far they are; absent if there are none. */
  draining?: string;
  rollout: Pick<RolloutPlan, 'state' | 'phase' | 'target' | 'current' | 'waits' | 'superseded' | 'lost'>;
  healing: Omit<HealingPlan, 'runRecords'>;
  /** When the passing of time alone changes something; milliseconds since the epoch. */
  requeueAt: number | null;
}

/**
 * Returns the next steps towards the pool's spec: never more than the limits allow, none if the pool is as it should
 * be.
 */
export function planPool(given: PoolPlanInput): PoolPlan {
  const context = contextOf(given);
  const { pool, vms, vmiOf, now } = context;
  const unverified = unverifiedRevision(context);
  const healing = healingOf(context, unverified);
  const returned = returnedVms(context);
  const restore = poolRestore(context);
  const limits = withReturned(context.isChangingMembers ? { ...context, burst: 0 } : context, returned);
  const scaling = scalingOf(limits, healing, isReleasing(pool) ? context.burst : limits.burst);
  // Scaling has priority: a VM that leaves now is not updated first.
  const leaving = leavingNames(context, scaling.steps);
  const drain = drainOfPool(context, { leaving, updating: context.inBatches.reserved });
  const older = olderContent(context);
  const rollout = rolloutOf(context, { healing, leaving, evacuating: evacuatingNames(drain), older });
  const surge = surgeOf(isReleasing(pool) ? context : limits, healing, rollout, scaling.steps);
  const roles = roleSteps(context);
  const decided = { healing, returned, restore, scaling, drain, rollout, surge, roles };
  const { steps, failures } = limitedBy(context, allSteps(context, decided), (backoffs) =>
    dueSteps({ ...context, backoffs, burst: Infinity }, decided),
  );
  const availability = poolAvailability(pool, vms, vmiOf, now);
  const status = poolStatus(context, { ...decided, failures, availability, judged: older.judged() });
  const isSaid = isStatusCurrent(pool.status, status) && !hasOnlyReleasedClaims(context, now);
  const { superseded, lost, waits, target, current, state, phase } = rollout;
  const { runRecords: _, ...healingReport } = healing;
  const plans = [
    drain,
    surge,
    rollout,
    healing,
    availability,
    claimsRequeue(context, now),
    { requeueAt: restore.until },
    roles,
  ];
  return {
    steps,
    failures,
    status: isSaid ? null : { ...status, writes: (pool.status?.writes ?? 0) + 1 },
    ...eventsOf(context, decided, status),
    phase: phaseOf(context, decided),
    counts: countsOf(context, status),
    ...(scaling.blocked === null ? {} : { blocked: scaling.blocked.message }),
    ...(drain.statuses.length === 0 ? {} : { draining: drainingMessage(drain.statuses) }),
    rollout: { state, phase, target, current, waits, superseded, lost },
    healing: healingReport,
    requeueAt: requeueAtOf(context, scaling, plans, unverified !== null && isOver(state, unverified)),
  };
}

/** Events about what the new status says, and about the requests of users that this plan answers. */
function eventsOf(
  { pool, membership, now }: PoolContext,
  { rollout, healing }: Pick<Decided, 'rollout' | 'healing'>,
  planned: PoolStatus,
): Pick<PoolPlan, 'events'> {
  const { status } = pool;
  const events = [
    ...requestEvents('rollout', status?.rollout?.handledRequests, rollout.state.handledRequests),
    ...requestEvents('healing', status?.healing?.handledRequests, healing.state.handledRequests),
    ...requestEvents('membership', status?.membership?.handledRequests, membership.handledRequests),
    ...endedEvent(status, planned),
    ...noticeEvents(poolNotices(pool), poolNotices({ ...pool, status: planned }), now),
  ];
  return events.length === 0 ? {} : { events };
}

/**
 * Returns the steps that need not wait for another try, and the failures that still stand. Most housekeeping comes only
 * if there is nothing else to do, save for what waits.
 */
function limitedBy(
  context: PoolContext,
  { steps, whenIdle }: AllSteps,
  stepsWithout: (backoffs: Backoffs) => PoolStep[],
): Pick<PoolPlan, 'steps' | 'failures'> {
  const first = withoutDelayed(context, steps);
  return {
    steps: first.length > 0 ? first : withoutDelayed(context, whenIdle()),
    failures: openFailures(context, stepsWithout, () => [...steps, ...whenIdle()]),
  };
}

function healingOf(context: PoolContext, unverified: string | null): HealingPlan {
  const { pool, now } = context;
  const state = withHealingRequest({ pool, now }, context.healing);
  const { isChangingMembers } = context;
  if (isChangingMembers && !isReleasing(pool)) return healingAsItIs(state);
  return planHealing({
    ...context,
    // What has begun continues, and nothing else begins.
    ...(isChangingMembers && { burst: 0 }),
    state,
    busy: new Set([...busyNames(context), ...context.inBatches.reserved]),
    named: new Set([...context.removals.vms.values()].map(({ uid }) => uid)),
    unverified,
  });
}

/** VMs on which steps in progress or cancelled attempts to heal them may still act. */
const busyNames = ({ inProgress: { creating, deleting, cancelled = [], standby = [] } }: PoolContext): string[] => [
  ...creating,
  ...deleting,
  ...cancelled,
  ...standby,
];

interface BesideRollout extends Record<'leaving' | 'evacuating', readonly string[]>, Pick<Decided, 'healing'> {
  older: OlderContent;
}

function rolloutOf(context: PoolContext, { healing, leaving, evacuating, older }: BesideRollout): RolloutPlan {
  // VMs without labels whose revisions are not known: they are to get them with the labels.
  const unlabelled = unlabelledMembers(context)
    .filter((vm) => vm.revision === null || context.vmiOf(vm)?.revision === null)
    .map(({ name }) => name);
  const plan = planRollout({
    ...context,
    changeFor: older.changeFor,
    state: context.rollout,
    busy: new Set([...busyNames(context), ...leaving, ...unhealthyVms(healing), ...unlabelled]),
    unlabelled: new Set(unlabelled),
    isHealed: (vm) => context.pool.spec.autohealing !== undefined && !isGivenUp(healing.state, vm),
    evacuating: new Set(evacuating),
    isChangingMembers: context.isChangingMembers,
    creationFailure: context.backoffs.FailedSurge?.failure ?? null,
    notBefore: context.batchesNotBefore,
  });
  return { ...plan, state: withFirstAvailable(context, withInFlight(context, plan)) };
}

/** Names the batches that may act from now on. */
function withInFlight({ batches }: PoolContext, { state, update, lost }: RolloutPlan): RolloutPlan['state'] {
  const { inFlight: _, ...rest } = state;
  const numbers = [...batches, ...(update === null ? [] : [update.batch])].map(({ n }) => n);
  const inFlight = numbers.filter((n) => !lost.includes(n));
  return inFlight.length === 0 ? rest : { ...rest, inFlight };
}

/** A rollout that has just ended hands its VMs over to healing. No event announces that, so plan again at once. */
function requeueAtOf(
  { pool, now }: PoolContext,
  scaling: ScalePlan,
  plans: readonly { requeueAt: number | null }[],
  isUpToHealing: boolean,
): number | null {
  if (pool.metadata.deletionTimestamp !== undefined) return scaling.requeueAt;
  return isUpToHealing ? now : [scaling, ...plans].map(({ requeueAt }) => requeueAt).reduce(earlier);
}

function countsOf({ pool, vms, vmiOf }: PoolContext, { updatedReplicas = 0 }: PoolStatus): PoolCounts {
  const regular = vms.filter(isRegular);
  return {
    wanted: pool.spec.replicas,
    present: regular.length,
    ready: regular.filter((vm) => isActive(vm) && isReady(vm, vmiOf(vm))).length,
    updated: updatedReplicas,
    surge: vms.filter(isSurge).length,
    byState: byState(regular),
  };
}
