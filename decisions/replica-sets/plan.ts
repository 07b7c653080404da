import { REPLICA_SET_FINALIZER } from '../../api/names.ts';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { isReady } from '../disruption-budget/availability.ts';
import { formatNames } from '../lib/names.ts';
import { availabilityOf } from '../pool/availability.ts';
import { byState, type PoolCounts, type PoolPlan } from '../pool/plan.ts';
import { saysTheSame, type Failure } from '../pool/status.ts';
import type { PoolStep, Target } from '../pool/steps.ts';
import { refusedLast, type RefusedVms } from '../scaling/refused-vms.ts';
import { deletion, nameOf, planEnd, roomToDelete, targets, words } from '../scaling/removal.ts';
import { isHalted, type VmView } from '../views/vm.ts';
import { membersOf, type Members, type MembersInput } from './members.ts';
import { freeNames } from './names.ts';
import { removalOrder } from './removal-order.ts';
import { replicaSetStatus } from './status.ts';

export interface ReplicaSetInput extends MembersInput {
  /** Whether a VM of this name exists that is not the set's. */
  isHeldByOther: (name: string) => boolean;
  /** Names that activities are working on now. */
  inProgress: { creating: readonly string[]; deleting: readonly string[] };
  /** Names of VMs that were to be created, and of which nobody knows whether they were, or still will be. */
  uncertain: readonly string[];
  /** Milliseconds since the epoch. */
  now: number;
  /** How many VMs may be in flight at once, for creations and deletions each. */
  burst: number;
  /** How many VMs may be started on now: fewer than `burst` after a failure, none during the back-off. */
  allowance: number;
  /** VMs that the API server refused to create, delete, adopt or release: others go first, and these wait. */
  refused?: RefusedVms | undefined;
  failure: Failure | null;
}

/** What to do next for a set, each step with a reason for people to read. */
export type ReplicaSetStep =
  | Extract<PoolStep, { kind: 'hold' | 'let-go' | 'delete' | 'halt' | 'release' }>
  | { kind: 'make'; names: string[]; reason: string }
  | { kind: 'adopt'; vms: Target[]; reason: string };

export interface ReplicaSetPlan {
  steps: ReplicaSetStep[];
  /** The status to write; null if the stored one is up to date. */
  status: ReplicaSetStatus | null;
  /** The failure that still holds. */
  failure: Failure | null;
  phase: Extract<
    PoolPlan['phase'],
    'Steady' | 'Starting' | 'ScalingOut' | 'ScalingIn' | 'Deleting' | 'Paused' | 'Failed'
  >;
  counts: Omit<PoolCounts, 'updated'>;
  /** Those of the input that are still uncertain. */
  uncertain: string[];
  /** When the passing of time alone changes something; milliseconds since the epoch. */
  wakeAt: number | null;
}

/** Returns the next steps towards the set's spec: none if the set is as it should be. */
export function planReplicaSet(input: ReplicaSetInput): ReplicaSetPlan {
  const { set, vms, vmiOf, now } = input;
  const members = membersOf(input);
  const isDeleted = set.metadata.deletionTimestamp !== undefined;
  const uncertain = input.uncertain.filter((name) => !members.present.has(name) && !input.isHeldByOther(name));
  const steps = isDeleted ? planEnd(endOf(input)) : planMembers({ ...input, uncertain }, members);
  const failure = stillStands(input, members) ? input.failure : null;
  const availability = availabilityOf(set.spec, members.active, vmiOf, now);
  const status = replicaSetStatus({
    set,
    vms,
    members,
    vmiOf,
    availability,
    failure,
    now: new Date(now).toISOString(),
  });
  return {
    steps,
    status: saysTheSame(set.status, status) ? null : { ...status, writes: (set.status?.writes ?? 0) + 1 },
    failure,
    phase: phaseOf(input, members),
    counts: {
      wanted: set.spec.replicas,
      present: vms.length,
      ready: status.readyReplicas ?? 0,
      byState: byState(vms),
    },
    uncertain,
    wakeAt: isDeleted ? null : availability.wakeAt,
  };
}

const endOf = (input: ReplicaSetInput) => ({
  ...input,
  owner: input.set,
  finalizer: REPLICA_SET_FINALIZER,
  what: 'set' as const,
  order: removalOrder(input.vms, input.vmiOf),
});

function planMembers(input: ReplicaSetInput, members: Members): ReplicaSetStep[] {
  if (!input.set.metadata.finalizers?.includes(REPLICA_SET_FINALIZER))
    return [{ kind: 'hold', reason: 'the set must not go before its VMs' }];
  const steps = [...release(input, members), ...adopt(input, members)];
  return input.set.spec.paused === true
    ? steps
    : [...steps, ...removeEnded(input, members), ...make(input, members), ...scaleIn(input, members)];
}

function release(input: ReplicaSetInput, { unmatched }: Members): ReplicaSetStep[] {
  const chosen = free(unmatched, input.inProgress.deleting, input).slice(0, input.allowance);
  const reason = `release ${words(chosen)}: the labels no longer match the selector`;
  return chosen.length === 0 ? [] : [{ kind: 'release', vms: targets(chosen), because: 'unmatched', reason }];
}

function adopt(input: ReplicaSetInput, { orphans }: Members): ReplicaSetStep[] {
  const chosen = free(orphans, input.inProgress.creating, input).slice(0, input.allowance);
  const reason = `adopt ${words(chosen)}: the labels match the selector, and no controller owns them`;
  return chosen.length === 0 ? [] : [{ kind: 'adopt', vms: targets(chosen), reason }];
}

/** VMs that no activity works on, in the order to try them: those that were refused last, if at all. */
const free = (vms: readonly VmView[], busy: readonly string[], { refused }: ReplicaSetInput): VmView[] =>
  refusedLast(
    vms.filter(({ name }) => !busy.includes(name)),
    nameOf,
    refused,
  );

function removeEnded(input: ReplicaSetInput, { ended }: Members): ReplicaSetStep[] {
  const chosen = free(ended, input.inProgress.deleting, input).slice(0, roomToDelete(input));
  return chosen.length === 0 ? [] : [deletion(chosen, false, 'ended', 'they have run to their end')];
}

/**
 * Makes VMs for the places that nobody holds. A VM that is being deleted holds its place until it is gone, and so does
 * one of which it is not known whether it was made: its own name is tried again before another is given.
 */
function make(input: ReplicaSetInput, { present }: Members): ReplicaSetStep[] {
  const { set, inProgress, uncertain, burst, allowance, isHeldByOther, refused } = input;
  const { name, uid } = set.metadata;
  const held = new Set([...present, ...inProgress.creating]);
  const missing = set.spec.replicas - held.size;
  const again = uncertain.filter((one) => !held.has(one)).slice(0, Math.max(missing, 0));
  const isTaken = (one: string): boolean => held.has(one) || uncertain.includes(one) || isHeldByOther(one);
  const room = Math.min(missing, allowance, burst - inProgress.creating.length);
  // Refused names keep their places, and no other name waits for them.
  const enough = Math.min(missing - again.length, room + (refused?.names.length ?? 0));
  const names = [...again, ...freeNames({ name, uid }, room <= 0 ? 0 : enough, isTaken)];
  const chosen = refusedLast(names, (one) => one, refused).slice(0, Math.max(room, 0));
  const reason = `create ${formatNames(chosen)}: ${missing} missing of ${set.spec.replicas}`;
  return chosen.length === 0 ? [] : [{ kind: 'make', names: chosen, reason }];
}

function scaleIn(input: ReplicaSetInput, { active }: Members): ReplicaSetStep[] {
  const { set, vmiOf, inProgress } = input;
  const staying = active.filter(({ name }) => !inProgress.deleting.includes(name));
  const excess = staying.length - set.spec.replicas;
  if (excess <= 0) return [];
  const chosen = free(removalOrder(staying, vmiOf).slice(0, excess), [], input)
    .slice(0, roomToDelete(input))
    // A VM that is still being created is deleted afterwards.
    .filter(({ name }) => !inProgress.creating.includes(name));
  return chosen.length === 0
    ? []
    : [deletion(chosen, false, 'surplus', `${excess} more than the ${set.spec.replicas} wanted`)];
}

function stillStands({ set, vms, failure }: ReplicaSetInput, members: Members): boolean {
  const { active, ended, orphans, unmatched, present } = members;
  if (set.metadata.deletionTimestamp !== undefined) return failure?.reason === 'FailedDelete' && vms.length > 0;
  switch (failure?.reason) {
    case undefined:
      return false;
    case 'FailedCreate':
      return present.size < set.spec.replicas;
    case 'FailedDelete':
      return active.length > set.spec.replicas || ended.length > 0;
    case 'FailedAdopt':
      return orphans.length > 0;
    case 'FailedRelease':
      return unmatched.length > 0;
  }
}

function phaseOf({ set, vms, vmiOf }: ReplicaSetInput, { active }: Members): ReplicaSetPlan['phase'] {
  if (set.metadata.deletionTimestamp !== undefined) return 'Deleting';
  if (set.spec.paused === true) return 'Paused';
  if (vms.length > active.length || active.length > set.spec.replicas) return 'ScalingIn';
  if (active.length < set.spec.replicas) return 'ScalingOut';
  return active.some((vm) => !isReady(vm, vmiOf(vm)) && !isHalted(vm)) ? 'Starting' : 'Steady';
}
