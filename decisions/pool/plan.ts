import type { PoolStatus } from '../../api/pool/pool.ts';
import { olderContent, type OlderContent } from '../configuration/older-content.ts';
import { keptByNumber } from '../disks/kept-claims.ts';
import { claimsWake, hasOnlyReleasedClaims } from '../disruption-budget/claims.ts';
import { drainingMessage } from '../drain/condition.ts';
import { podBudgetCondition } from '../drain/pod-budget.ts';
import { drainOfPool, evacuatingNames } from '../drain/pool-drain.ts';
import { correctionIn, driftedVms } from '../drift/members.ts';
import { planHealing, type HealingPlan } from '../healing/plan.ts';
import { isGivenUp, stateFrom } from '../healing/state.ts';
import type { HealingInput } from '../healing/view.ts';
import { isActive, isReady } from '../health/availability.ts';
import { earlier } from '../lib/times.ts';
import { membersChanging } from '../membership/condition.ts';
import { unlabelledMembers } from '../membership/labels.ts';
import { poolRestore, poolRestoring } from '../membership/restore.ts';
import { returnedVms } from '../membership/returned.ts';
import { roleSteps } from '../membership/roles.ts';
import { poolAvailability } from '../owners/available-condition.ts';
import { byState, type OwnerCounts } from '../owners/counts.ts';
import type { OwnerEvent } from '../owners/events.ts';
import { standingFailures, withoutDelayed, type Backoffs, type Failure } from '../owners/failures.ts';
import type { PoolStep } from '../owners/steps.ts';
import { requestEvents } from '../requests/events.ts';
import { withHealingRequest } from '../requests/healing.ts';
import { planMembership, type MembershipPlan } from '../requests/membership.ts';
import { planRollout, type RolloutPlan } from '../rollout/plan.ts';
import { reservedNames } from '../rollout/reserved-names.ts';
import type { RolloutInput } from '../rollout/state/context.ts';
import { splitBatches, type SplitBatches } from '../rollout/state/queue.ts';
import { isOver, unverifiedRevision, withProof } from '../rollout/unverified-revision.ts';
import { namedRemovals } from '../scaling/named-removals.ts';
import type { ScalePlan } from '../scaling/plan.ts';
import { isRegular, isSurge } from '../views/vm.ts';
import { allSteps, type AllSteps } from './all-steps.ts';
import { healingAsItIs, isHeld, limited, prepared, withReturned } from './allowances.ts';
import { contendedCondition } from './contention.ts';
import { dueSteps, leavingNames, scalingOf, sickVms, surgeOf, type Healing } from './members.ts';
import { phaseOf, type PoolPhase } from './phase.ts';
import type { PoolPlanInput } from './plan-input.ts';
import { isStatusCurrent, poolStatus } from './status.ts';
import { templatesOf } from './templates-of.ts';

interface PoolCounts extends OwnerCounts {
  updated: number;
  /** Extra VMs; absent in older histories. */
  surge?: number;
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
  healing: Omit<HealingPlan, 'mark'>;
  /** When the passing of time alone changes something; milliseconds since the epoch. */
  wakeAt: number | null;
  /** The plan was made from the pool's status, which is newer than what its workflow knows; absent if not. */
  isOverruled?: true;
}

/**
 * Returns the next steps towards the pool's spec: never more than the limits allow, none if the pool is as it should
 * be.
 */
export function planPool(given: PoolPlanInput): PoolPlan {
  const input = snapshotOf(given);
  const { pool, vms, vmiOf, batches, templateOf, contents = null, now } = input;
  const inBatches = reservedNames(batches, vms, input.isVmNameTaken);
  const removals = namedRemovals(pool.metadata.annotations);
  const unverified = unverifiedRevision(input);
  const { mark, ...healing } = healingOf(input, { busy: inBatches.held, named: removals.vms.values(), unverified });
  const kept = keptOf(input);
  const members = { inBatches, healing, removals, kept };
  const returned = returnedVms(input);
  const restore = poolRestore(input);
  const limits = limited(withReturned(input, returned));
  const scaling = scalingOf(limits, members);
  const { steps: scaleSteps, blocked, waiting } = scaling;
  // Scaling has priority: a VM that leaves now is not updated first.
  const leaving = leavingNames(input, members, scaleSteps);
  const drain = drainOfPool(input, { leaving, updating: inBatches.held });
  const older = olderContent({ ...input, contents });
  const rollout = rolloutOf(input, { healing, leaving, evacuating: evacuatingNames(drain), older });
  const drifted = driftedVms(pool, vms, templateOf);
  const surge = surgeOf(limits, members, rollout, scaleSteps);
  const reuse = { pool, kept, revision: rollout.forNewVms, templateOf };
  const roles = roleSteps(input);
  const membership = planMembership(input);
  const more = { returned, restore, roles, membership, drain, surgeSteps: surge.steps, rollout, mark, reuse };
  const { steps, failures } = limitedBy(input, allSteps(input, { scaleSteps, ...more }), (backoffs) =>
    dueSteps({ ...given, batches }, backoffs, { ...members, rollout, reuse }),
  );
  const availability = poolAvailability(pool, vms, vmiOf, now);
  const at = new Date(now).toISOString();
  const changing = [...contendedCondition(input, at), ...membersChanging(input, healing.state.cycles, at)];
  const status = poolStatus({
    pool,
    all: vms,
    vmiOf,
    failures,
    availability,
    rollout,
    healing,
    blocked,
    waiting,
    kept,
    drifted,
    draining: drain.statuses,
    notLimited: podBudgetCondition(input, at),
    membership,
    changing: [...changing, ...poolRestoring(input, restore, returned, at)],
    contents,
    judged: older.judged(),
    now: at,
  });
  const isSaid = isStatusCurrent(pool.status, status) && !hasOnlyReleasedClaims({ pool, vms, vmiOf }, now);
  const { superseded, lost, waits, target, current, state, phase } = rollout;
  return {
    steps,
    failures,
    status: isSaid ? null : { ...status, writes: (pool.status?.writes ?? 0) + 1 },
    ...answersIn(pool, { rollout, healing, membership }),
    phase: phaseOf(input, { rollout: phase, heals: healing.state.cycles.length > 0, blocked }),
    counts: countsOf(input, status),
    ...(blocked === null ? {} : { blocked: blocked.message }),
    ...(drain.statuses.length === 0 ? {} : { draining: drainingMessage(drain.statuses) }),
    rollout: { state, phase, target, current, waits, superseded, lost },
    healing,
    wakeAt: wakeAtOf(
      input,
      scaling,
      [
        drain,
        surge,
        rollout,
        healing,
        availability,
        claimsWake({ pool, vms, vmiOf }, now),
        { wakeAt: restore.until },
        roles,
      ],
      unverified !== null && isOver(state, unverified),
    ),
  };
}

/** Events about the requests of people that this plan answers; none if there are none. */
function answersIn(
  { status }: PoolPlanInput['pool'],
  { rollout, healing, membership }: { rollout: RolloutPlan; healing: Healing; membership: MembershipPlan },
): Pick<PoolPlan, 'events'> {
  const events = [
    ...requestEvents('rollout', status?.rollout?.handledRequests, rollout.state.handledRequests),
    ...requestEvents('healing', status?.healing?.handledRequests, healing.state.handledRequests),
    ...requestEvents('membership', status?.membership?.handledRequests, membership.handledRequests),
  ];
  return events.length === 0 ? {} : { events };
}

function keptOf({ pool, vms, keptClaims = [], isVmNameTaken }: PoolPlanInput): ReturnType<typeof keptByNumber> {
  const isThere = new Set(vms.map(({ name }) => name));
  return keptByNumber(pool, keptClaims, (name) => isThere.has(name) || isVmNameTaken(name));
}

/** What a pool is planned from. Its batches have only those VMs that were begun with: the others are free. */
type PoolSnapshot = PoolPlanInput & SplitBatches & Pick<Required<RolloutInput>, 'templateOf' | 'correction'>;

function snapshotOf(given: PoolPlanInput): PoolSnapshot {
  const all = prepared(given);
  const templateOf = templatesOf(all);
  const correction = correctionIn(all, templateOf);
  const split = splitBatches(all.batches, { ...all, hasDrift: (vm) => correction(vm) !== null });
  return { ...all, ...split, templateOf, correction };
}

/**
 * Returns the steps that need not wait for another try, and the failures that still stand. Most housekeeping comes only
 * if there is nothing else to do, save for what waits.
 */
function limitedBy(
  input: PoolPlanInput,
  { steps, whenIdle }: AllSteps,
  stepsWithout: (backoffs: Backoffs) => PoolStep[],
): Pick<PoolPlan, 'steps' | 'failures'> {
  const first = withoutDelayed(input, steps);
  return {
    steps: first.length > 0 ? first : withoutDelayed(input, whenIdle()),
    failures: standingFailures(input, stepsWithout, () => [...steps, ...whenIdle()]),
  };
}

function healingOf(
  input: PoolPlanInput,
  { busy, named, unverified }: Pick<HealingInput, 'unverified'> & Record<'busy' | 'named', Iterable<string>>,
): HealingPlan {
  const { pool, now } = input;
  const known = input.healing ?? stateFrom(pool.status?.healing);
  const state = withHealingRequest({ pool, isKnown: (input.healing ?? null) !== null, now }, known);
  if (isHeld(input)) return healingAsItIs(state);
  return planHealing({
    ...input,
    failedVmisOf: input.failedVmisOf ?? (() => []),
    lastFailureOf: input.lastFailureOf ?? (() => null),
    vmiHistoryOf: input.vmiHistoryOf ?? (() => null),
    state,
    busy: new Set([...busyNames(input), ...busy]),
    named: new Set(named),
    unverified,
  });
}

/** VMs on which steps in progress or cancelled attempts to heal them may still act. */
const busyNames = ({ inProgress: { creating, deleting, cancelled = [], standby = [] } }: PoolPlanInput): string[] => [
  ...creating,
  ...deleting,
  ...cancelled,
  ...standby,
];

interface BesideRollout extends Record<'leaving' | 'evacuating', readonly string[]> {
  healing: Healing;
  older: OlderContent;
}

function rolloutOf(input: PoolSnapshot, { healing, leaving, evacuating, older }: BesideRollout): RolloutPlan {
  // VMs without labels whose revisions are not known: they are to get them with the labels.
  const unlabelled = unlabelledMembers(input)
    .filter((vm) => vm.revision === null || input.vmiOf(vm)?.revision === null)
    .map(({ name }) => name);
  const plan = planRollout({
    ...input,
    changeFor: older.changeFor,
    state: input.rollout,
    busy: new Set([...busyNames(input), ...leaving, ...sickVms(healing), ...unlabelled]),
    unlabelled: new Set(unlabelled),
    isHealed: (vm) => input.pool.spec.autohealing !== undefined && !isGivenUp(healing.state, vm),
    evacuating: new Set(evacuating),
    held: isHeld(input),
    creationFailure: input.backoffs.FailedSurge?.failure ?? null,
    notBefore: input.batchesNotBefore,
  });
  return { ...plan, state: withProof(input, plan.state) };
}

/** A rollout that has just ended hands its VMs over to healing. No event announces that, so plan again at once. */
function wakeAtOf(
  { pool, now }: PoolPlanInput,
  scaling: ScalePlan,
  plans: readonly { wakeAt: number | null }[],
  isLeftToHealing: boolean,
): number | null {
  if (pool.metadata.deletionTimestamp !== undefined) return scaling.wakeAt;
  return isLeftToHealing ? now : [scaling, ...plans].map(({ wakeAt }) => wakeAt).reduce(earlier);
}

function countsOf({ pool, vms, vmiOf }: PoolPlanInput, { updatedReplicas = 0 }: PoolStatus): PoolCounts {
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
