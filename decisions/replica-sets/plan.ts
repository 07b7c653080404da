import { REPLICA_SET_FINALIZER } from '../../api/labels-and-annotations.ts';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { saysTheSame } from '../lib/canonical-json.ts';
import { earliestAfter } from '../lib/earlier-and-later.ts';
import { formatNames } from '../lib/names.ts';
import { isRestoring } from '../membership/restore.ts';
import { byState, type OwnerCounts } from '../owners/counts.ts';
import type { OwnerEvent } from '../owners/events.ts';
import {
  allowanceOf,
  mayTry,
  OPERATIONS,
  refusedOf,
  openFailures,
  withoutDelayed,
  type Backoffs,
  type Failure,
} from '../owners/failures.ts';
import { keptReplicas } from '../owners/kept-replicas.ts';
import { refusedLast } from '../owners/refused-vms.ts';
import { RemovalLimit } from '../owners/removal-limit.ts';
import { nameOf, targets, vmNames, type PoolStep, type Target } from '../owners/steps.ts';
import { availabilityOf } from '../scaling/available-condition.ts';
import { deletion, planEnd, type RemovalStep } from '../scaling/removal.ts';
import { hashOf } from '../template/revision.ts';
import type { StoredSet } from '../views/owner.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { statusEvents } from './events.ts';
import { membersOf, type Members, type MembersInput } from './members.ts';
import { freeNames } from './names.ts';
import { othersAmongVmis, othersAmongVms, overlapsOf, type Overlaps } from './overlaps.ts';
import { phaseOf, type SetPhase } from './phase.ts';
import type { Circumstances, ReplicaSetInput, VmiSetInput } from './plan-input.ts';
import { removalOrder } from './removal-order.ts';
import { replicaOfVm, replicaOfVmi, type Replica } from './replica.ts';
import { setRestore } from './restore.ts';
import { afterStart, failedStarts, startFailure, startsAllowed, type FailedStarts } from './start-backoff.ts';
import { isToRun, replicaSetStatus, MEMBER_NOUNS } from './status.ts';

/** What to do next for a set, each step with a reason for users to read. */
export type ReplicaSetStep =
  | RemovalStep
  | Extract<PoolStep, { kind: 'keepReplicas' }>
  | { kind: 'createReplicas'; names: string[]; reason: string }
  | { kind: 'adopt'; vms: Target[]; reason: string };

export interface ReplicaSetPlan {
  steps: ReplicaSetStep[];
  /** The status to write; null if the stored one is up to date. */
  status: ReplicaSetStatus | null;
  /** Events about what that status says, and the stored one does not. */
  events: OwnerEvent[];
  /** The failures that still stand. */
  failures: Failure[];
  phase: SetPhase;
  counts: OwnerCounts;
  /** Uncertain names of the input that are still uncertain. */
  uncertain: string[];
  /** Failed starts that the next plan must know of; null if none, and in a set of VMs, which KubeVirt starts. */
  starts: FailedStarts | null;
  /** When the passing of time alone changes something; milliseconds since the epoch. */
  requeueAt: number | null;
}

/** A set of either kind, its members in one form. */
interface SetInput extends Omit<Circumstances, 'sets' | 'otherVms'>, MembersInput {
  /** The set's members as VMs, which may leave with their disks kept; none in a set of VMIs. */
  vms: readonly VmView[];
  starts: FailedStarts | null;
  /** When time alone says more of `starts`. */
  startsRequeueAt: number | null;
  overlaps: Overlaps;
}

/** Returns the next steps towards the spec of a set of VMs: none if the set is as it should be. */
export function planReplicaSet({ uncontrolled, vmiOf, sets, otherVms, ...input }: ReplicaSetInput): ReplicaSetPlan {
  const replica = (vm: VmView): Replica => replicaOfVm(vm, vmiOf(vm), minReadyMsOf(input.set));
  return planSet({
    ...input,
    counting: 'strict',
    replicas: input.vms.map(replica),
    uncontrolled: uncontrolled.map(replica),
    overlaps: overlapsOf(input.set, sets, othersAmongVms(otherVms)),
    starts: null,
    startsRequeueAt: null,
  });
}

/** Returns the next steps towards the spec of a set of VMIs. */
export function planVmiSet({ vmis, uncontrolled, sets, otherVms, otherVmis, ...input }: VmiSetInput): ReplicaSetPlan {
  const replica = (vmi: VmiView): Replica => replicaOfVmi(vmi, minReadyMsOf(input.set));
  const { starts, requeueAt } = failedStarts({ ...input, vmis, before: input.starts, specHash: startHash(input.set) });
  return planSet({
    ...input,
    counting: 'eager',
    vms: [],
    replicas: vmis.map(replica),
    uncontrolled: uncontrolled.map(replica),
    overlaps: overlapsOf(input.set, sets, othersAmongVmis(otherVmis, otherVms)),
    starts,
    startsRequeueAt: requeueAt,
  });
}

/** Hash of all in the spec that decides whether a VMI comes up. */
const startHash = ({ spec: { template, minReadySeconds = 0 } }: StoredSet): string =>
  hashOf({ template, minReadySeconds });

const minReadyMsOf = ({ spec }: StoredSet): number => (spec.minReadySeconds ?? 0) * 1000;

function planSet(input: SetInput): ReplicaSetPlan {
  const { set, replicas, now } = input;
  const members = membersOf(input);
  const isDeleted = set.metadata.deletionTimestamp !== undefined;
  const uncertain = input.uncertain.filter((name) => !members.names.has(name) && !input.isVmNameTaken(name));
  const stepsOf = (given: SetInput, limit: RemovalLimit): ReplicaSetStep[] =>
    isDeleted ? planEnd(deletionInput(given), limit) : planMembers({ ...given, uncertain }, members, limit);
  const limit = removalLimitIn(input);
  const steps = [...withoutDelayed(input, keptReplicas(set)), ...stepsOf(input, limit)];
  const starts = startsAfter(input, steps);
  const stepsWithout = (backoffs: Backoffs): ReplicaSetStep[] => {
    const unlimited = { ...input, backoffs, burst: Infinity, starts: null };
    return stepsOf(unlimited, removalLimitIn(unlimited));
  };
  const failures = openFailures(input, stepsWithout, () => keptReplicas(set));
  const notStarted = isDeleted ? null : startFailure(starts);
  const wanted = { replicas: set.spec.replicas, isToRun: isToRun(set) };
  const availability = availabilityOf(wanted, members.active, now);
  const restore = setRestore(input, members);
  const status = replicaSetStatus({
    ...input,
    members,
    restore,
    availability,
    waiting: limit.waiting,
    failures: notStarted === null ? failures : [...failures, notStarted],
    now: new Date(now).toISOString(),
  });
  return {
    steps,
    status: saysTheSame(set.status, status) ? null : { ...status, writes: (set.status?.writes ?? 0) + 1 },
    events: statusEvents(set, status, now),
    failures,
    phase: phaseOf(input, members),
    counts: {
      wanted: set.spec.replicas,
      present: replicas.length,
      ready: status.readyReplicas ?? 0,
      byState: byState(replicas),
    },
    uncertain,
    starts,
    // What is due already waits for something else than the time.
    requeueAt: earliestAfter(now, [
      limit.requeueAt,
      restore.until,
      ...(isDeleted ? [] : [availability.requeueAt, input.startsRequeueAt, retryAt(starts, members, set)]),
    ]),
  };
}

const startsAfter = ({ starts, now }: SetInput, steps: readonly ReplicaSetStep[]): FailedStarts | null =>
  starts !== null && steps.some(({ kind }) => kind === 'createReplicas') ? afterStart(starts, now) : starts;

const retryAt = (starts: FailedStarts | null, { present }: Members, { spec }: StoredSet): number | null =>
  starts !== null && present.size < spec.replicas && spec.paused !== true ? starts.retryAt : null;

const deletionInput = (input: SetInput) => ({
  ...input,
  owner: input.set,
  finalizer: REPLICA_SET_FINALIZER,
  what: 'set' as const,
  order: removalOrder(input.replicas),
  lost: new Set(input.replicas.filter(({ isLost }) => isLost).map(nameOf)),
});

const removalLimitIn = (input: SetInput): RemovalLimit =>
  new RemovalLimit(
    input.replicas.filter(({ deleting }) => deleting).map(({ leavingSince: since, ...one }) => ({ ...one, since })),
    input,
  );

function planMembers(input: SetInput, members: Members, limit: RemovalLimit): ReplicaSetStep[] {
  if (!input.set.metadata.finalizers?.includes(REPLICA_SET_FINALIZER))
    return !mayTry(input, 'FailedFinalizer')
      ? []
      : [{ kind: 'addFinalizer', reason: `the set must not go before its ${MEMBER_NOUNS[input.counting]}` }];
  const all =
    input.set.spec.paused === true || isRestoring(input.set)
      ? [release, adopt]
      : [release, adopt, removeEnded, make, scaleIn];
  const steps: ReplicaSetStep[] = [];
  // Each counts what those before it begin.
  for (const plan of all) steps.push(...plan(begun(input, steps), members, limit));
  return [...steps, ...setRestore(input, members).steps];
}

/** The input as if these steps were in progress. */
function begun({ inProgress: { creating, deleting }, ...input }: SetInput, steps: readonly ReplicaSetStep[]): SetInput {
  const come: string[] = [];
  const leave: string[] = [];
  for (const step of steps) {
    if (step.kind === 'createReplicas') come.push(...step.names);
    else if ('vms' in step) (step.kind === 'adopt' ? come : leave).push(...step.vms.map(({ name }) => name));
  }
  return { ...input, inProgress: { creating: [...creating, ...come], deleting: [...deleting, ...leave] } };
}

function release(input: SetInput, { unmatched }: Members, limit: RemovalLimit): ReplicaSetStep[] {
  const tried = free(unmatched, 'FailedRelease', input).slice(0, allowanceOf(input, 'FailedRelease'));
  const chosen = limit.release(tried);
  const reason = `release ${vmNames(chosen)}: the labels no longer match the selector`;
  return chosen.length === 0 ? [] : [{ kind: 'release', vms: targets(chosen), because: 'Unmatched', reason }];
}

function adopt(input: SetInput, { orphans }: Members): ReplicaSetStep[] {
  const { burst, inProgress } = input;
  const most = Math.min(burst - inProgress.creating.length, allowanceOf(input, 'FailedAdopt'));
  const chosen = free(orphans, 'FailedAdopt', input).slice(0, Math.max(most, 0));
  const reason = `adopt ${vmNames(chosen)}: the labels match the selector, and no controller owns them`;
  return chosen.length === 0 ? [] : [{ kind: 'adopt', vms: targets(chosen), reason }];
}

/** Members that no activity works on, in the order to try them: refused ones last, if at all. */
const free = (
  replicas: readonly Replica[],
  failure: 'FailedAdopt' | 'FailedDelete' | 'FailedRelease',
  input: SetInput,
): Replica[] =>
  refusedLast(
    replicas.filter(({ name }) => !input.inProgress[OPERATIONS[failure]].includes(name)),
    nameOf,
    refusedOf(input, failure),
  );

function removeEnded(input: SetInput, { ended }: Members, limit: RemovalLimit): ReplicaSetStep[] {
  const chosen = limit.admit(free(ended, 'FailedDelete', input));
  return deletion(chosen, false, 'Ended', 'they have run to their end');
}

/**
 * Makes members for the free places. A member whose creation has an unknown result holds a place: its own name is tried
 * again before another is given.
 */
function make(input: SetInput, { present, names: known }: Members): ReplicaSetStep[] {
  const { set, inProgress, uncertain, burst, isVmNameTaken, starts, now } = input;
  const { name, uid } = set.metadata;
  const reserved = new Set([...present, ...inProgress.creating]);
  const missing = set.spec.replicas - reserved.size;
  const again = uncertain.filter((one) => !reserved.has(one)).slice(0, Math.max(missing, 0));
  const isTaken = (one: string): boolean =>
    reserved.has(one) || known.has(one) || uncertain.includes(one) || isVmNameTaken(one);
  const refused = refusedOf(input, 'FailedCreate');
  const allowance = allowanceOf(input, 'FailedCreate');
  const remaining = Math.min(missing, allowance, burst - inProgress.creating.length, startsAllowed(starts, now));
  // Refused names keep their places, and no other name waits for them.
  const enough = Math.min(missing - again.length, remaining + (refused?.names.length ?? 0));
  const names = [...again, ...freeNames({ name, uid }, remaining <= 0 ? 0 : enough, isTaken)];
  const chosen = refusedLast(names, (one) => one, refused).slice(0, Math.max(remaining, 0));
  const reason = `create ${formatNames(chosen)}: ${missing} missing of ${set.spec.replicas}`;
  return chosen.length === 0 ? [] : [{ kind: 'createReplicas', names: chosen, reason }];
}

function scaleIn(input: SetInput, { active }: Members, limit: RemovalLimit): ReplicaSetStep[] {
  const { set, inProgress } = input;
  const staying = active.filter(({ name }) => !inProgress.deleting.includes(name));
  const excess = staying.length - set.spec.replicas;
  if (excess <= 0) return [];
  // One that is still being created is deleted afterwards.
  const leaving = removalOrder(staying)
    .slice(0, excess)
    .filter(({ name }) => !inProgress.creating.includes(name));
  const chosen = limit.admit(free(leaving, 'FailedDelete', input));
  return deletion(chosen, false, 'Surplus', `${excess} more than the ${set.spec.replicas} wanted`);
}
