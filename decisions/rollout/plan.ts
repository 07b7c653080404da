import type { RolloutStatus } from '../../api/pool/pool.ts';
import { isDown, isReady } from '../health/availability.ts';
import { pick } from '../lib/json.ts';
import type { PlannedBatch } from '../owners/batch.ts';
import { poolTemplate } from '../template/template.ts';
import type { VmView } from '../views/vm.ts';
import type { RolloutTarget } from '../vm-update/need.ts';
import { rolloutNeeds, type Candidate } from './candidates.ts';
import { withChanges, withOlderContent } from './changes.ts';
import { staleJob } from './checks/check.ts';
import { haltForCheck, haltForFailures } from './halting.ts';
import { inProgressOf } from './in-progress.ts';
import { batchOf, nextVms } from './next-batch.ts';
import { outdatedPods, type OutdatedPods } from './outdated-pods.ts';
import { isLost, withRegressions, withUnmade } from './regression.ts';
import { RolloutContext, type RolloutInput } from './state/context.ts';
import { withRolloutRequest } from './state/rollout-request.ts';
import { newRolloutState, failedIn, failuresThatCount, isGoingBack } from './state/state.ts';
import type { Wait } from './state/waits.ts';
import { stepProgress } from './steps.ts';
import { withSurgeFailures } from './surge/failures.ts';
import { surgeNeed, type SurgeNeed } from './surge/need.ts';

/** `Idle`: VMs that the pool's strategy leaves alone still have an older revision. */
export type RolloutPhase =
  | 'Complete'
  | 'RollingOut'
  | 'Waiting'
  | 'Paused'
  | 'Failed'
  | 'Aborted'
  | 'Undoing'
  | 'Undone'
  | 'Idle';

export interface RolloutPlan {
  state: RolloutStatus;
  phase: RolloutPhase;
  /** The revision of the pool's template. */
  newest: string;
  /** The revision that VMs are brought to; `current`: the last revision that all VMs reached, except opted-out ones. */
  target: string;
  current: string;
  update: PlannedBatch | null;
  /** Numbers of batches to be told that a newer revision replaces theirs; `lost`: numbers of lost batches. */
  superseded: number[];
  lost: number[];
  /** The surge VMs that the rollout needs. */
  surge: SurgeNeed;
  /** Why the check of its step is to be looked at now; null if it is not. */
  look: string | null;
  /** What the rollout waits for, one sentence each. */
  waits: Wait[];
  /** When the passing of time alone changes something; milliseconds since the epoch. */
  requeueAt: number | null;
  /** The revision that new VMs get. */
  forNewVms: string;
  /** After an undo: names of VMs that are not back as they should be. */
  notBack: string[];
  /** Failures of VMs that are still down, or still not of the target's revision. */
  openFailures: RolloutStatus['failures'];
  /**
   * How many VMs stay in the pool; `behind`: how many of them are not of the newest revision, without opted-out ones.
   */
  present: number;
  behind: number;
  /** How many VMs have both spec and VMI of the newest revision; `outdatedPods`: those whose pods lack some of it. */
  updated: number;
  outdatedPods: OutdatedPods;
}

/**
 * Returns where a rollout stands, and the batch that it may begin now: never more than the disruption budget allows,
 * none while it is held.
 */
export function planRollout(input: RolloutInput): RolloutPlan {
  const context = new RolloutContext(input);
  const { newest, waits } = context;
  const { batches } = input;
  const stale = withOlderContent(context);
  const known = broughtUpToDate(context, input.state);
  const target = targetOf(context, known);
  const needs = rolloutNeeds(context, known, target);
  const inProgress = inProgressOf(context);
  const { state: stepped, remaining, look } = stepProgress(context, known, target, needs, inProgress);
  const kind = stepped.halted?.kind;
  const nothingToDo = needs.free.length === 0 && needs.later === 0 && batches.length === 0;
  const isOver = nothingToDo && remaining === null && (kind === undefined || kind === 'Undoing');
  const openFailures = openFailuresOf(context, stepped, target);
  let state = completed(stepped, { isOver, openFailures }, context.now);
  const { unsettled } = inProgress;
  const surge = surgeNeed(context, {
    state,
    revision: target.revision,
    free: needs.free,
    stepRemaining: remaining,
    unsettled,
  });
  const vms = context.isStopped(state)
    ? null
    : nextVms(context, target, needs.free, inProgress, { state, stepRemaining: remaining, surge });
  if (vms !== null) state = { ...state, batches: state.batches + 1, lastBatch: state.lastBatch + 1 };
  const isReached = isOver && needs.excluded === 0 && target.revision === newest && context.hasReached(newest);
  const current = isReached ? newest : context.current;
  return {
    state,
    phase: phaseOf(context, state, isOver, {
      targetIsCurrent: target.revision === current,
      hasExcluded: needs.excluded > needs.failed,
    }),
    notBack: isOver && kind === 'Undoing' ? notBack(context, target) : [],
    openFailures,
    newest,
    target: target.revision,
    current,
    update:
      vms === null ? null : batchOf(context, target, vms, { n: state.lastBatch, mayFail: mayFail(context, state) }),
    superseded: batches
      .filter((batch) => (batch.revision !== target.revision || stale.has(batch)) && batch.superseded !== true)
      .map(({ n }) => n),
    lost: batches.filter((batch) => isLost(context, batch)).map(({ n }) => n),
    surge: { ...surge, unsettled: new Set([...unsettled, ...costly(vms ?? [])]) },
    look: look ?? lookAtStaleJob(context, state),
    waits: waits.all,
    requeueAt: waits.requeueAt,
    forNewVms: forNewVms(context, state, target, isOver, remaining !== null),
    present: context.active.length,
    behind: context.active.filter((vm) => !vm.optedOut && !context.isOf(vm, newest)).length,
    updated: context.active.filter((vm) => context.isOf(vm, newest)).length,
    outdatedPods: outdatedPods(context, newest),
  };
}

/**
 * Records in the state what has happened since the last plan. The order matters: a request is about the state that its
 * user has seen, newer content takes back what failed with older content, and only what has failed then may halt it.
 */
function broughtUpToDate(context: RolloutContext, stored: RolloutStatus | null): RolloutStatus {
  const asked = withRolloutRequest(context, knownState(context, stored));
  const changed = withChanges(context, asked);
  const regressed = withRegressions(context, withUnmade(context, changed));
  const failed = withSurgeFailures(context, regressed);
  return haltForCheck(context, haltForFailures(context, failed));
}

/** Names of VMs that a batch takes down. */
const costly = (vms: readonly Candidate[]): string[] =>
  vms.filter(({ act }) => act !== 'write').map(({ vm }) => vm.name);

/** Why a worker looks at a check that is no longer waited for: its Job still exists. */
function lookAtStaleJob({ input: { pool } }: RolloutContext, rollout: RolloutStatus): string | null {
  const stale = pool.status === undefined ? null : staleJob({ ...pool, status: { ...pool.status, rollout } });
  return stale === null ? null : `delete Job ${stale.name}, which is no longer waited for`;
}

/** The known state of the rollout of the newest template. */
function knownState({ newest, now }: RolloutContext, known: RolloutStatus | null): RolloutStatus {
  return known?.revision === newest ? known : newRolloutState(newest, now, known ?? undefined);
}

/** How many more VMs may fail before the rollout, or its undo, halts; null: any number. */
function mayFail({ spec }: RolloutContext, state: RolloutStatus): number | null {
  const { onFailure, maxFailures } = spec.rollout;
  return onFailure === 'Continue' ? null : Math.max(maxFailures - failuresThatCount(state).length, 0);
}

/** A null limit: only VMs that don't run may be touched. */
function targetOf(context: RolloutContext, state: RolloutStatus): RolloutTarget {
  const { input, spec, newest, current } = context;
  const back = isGoingBack(state) ? input.templateOf(current) : undefined;
  const [revision, template] = back === undefined ? [newest, poolTemplate(input.pool.spec)] : [current, back];
  const limit = spec.update.kind === 'proactive' ? spec.update.disruption : null;
  return {
    ...pick(input, ['templateOf', 'changeFor', 'plugs', 'expandedOf', 'correction']),
    revision,
    template,
    strategy: spec.vmRolloutStrategy ?? input.strategy,
    clusterStrategy: input.strategy,
    podActFor: (vm, vmi) => context.podActFor(vm, vmi, revision),
    limit,
  };
}

/** A rollout that is complete keeps only failures that still stand; an undo keeps the failures that caused it. */
function completed(
  state: RolloutStatus,
  { isOver, openFailures }: { isOver: boolean; openFailures: RolloutStatus['failures'] },
  now: string,
): RolloutStatus {
  const { completedAt, ...rest } = state;
  if (!isOver) return rest;
  const failures = state.halted === undefined ? openFailures : state.failures;
  return { ...rest, failures, completedAt: completedAt ?? now };
}

/** A failure is over once its VM is well and of the target's revision, or is gone. */
function openFailuresOf(
  context: RolloutContext,
  state: RolloutStatus,
  { revision }: RolloutTarget,
): RolloutStatus['failures'] {
  const isWell = (vm: VmView): boolean => context.isOf(vm, revision) && !isDown(vm, context.input.vmiOf(vm));
  const members = [...context.standby, ...context.active];
  const hasFailed = failedIn(state);
  const failed = new Set(members.filter((vm) => hasFailed(vm) && !isWell(vm)).map(({ name }) => name));
  return state.failures.filter(({ vm }) => failed.has(vm));
}

/** Returns the revision of new VMs: the newest once a VM has come up with it, until then the last such revision. */
function forNewVms(
  context: RolloutContext,
  state: RolloutStatus,
  target: RolloutTarget,
  isOver: boolean,
  isBeforeStep: boolean,
): string {
  const { spec, newest, current, active, input } = context;
  if (spec.update.kind !== 'proactive' || isOver) return target.revision;
  if (target.revision !== newest || input.templateOf(current) === undefined) return target.revision;
  if (context.isStopped(state) || isBeforeStep) return current;
  const hasComeUp = active.some((vm) => context.isOf(vm, target.revision) && isReady(vm, input.vmiOf(vm)));
  return hasComeUp ? target.revision : current;
}

/** VMs that should run and are not ready, or don't have the revision that they should go back to. */
const notBack = ({ active, input: { vmiOf } }: RolloutContext, target: RolloutTarget): string[] =>
  active
    .filter((vm) => isDown(vm, vmiOf(vm)) || (!vm.optedOut && vm.revision !== target.revision))
    .map(({ name }) => name);

/** What a rollout waits for that no VM has to do with. */
const WAITING_KINDS: ReadonlySet<Wait['kind']> = new Set(['Approval', 'Step', 'Check', 'Window']);

function phaseOf(
  context: RolloutContext,
  state: RolloutStatus,
  isOver: boolean,
  { targetIsCurrent, hasExcluded }: { targetIsCurrent: boolean; hasExcluded: boolean },
): RolloutPhase {
  const kind = state.halted?.kind;
  if (isOver && kind === 'Undoing') return 'Undone';
  // A rollout is not a success if the pool's rules leave VMs on an older revision.
  if (isOver)
    return !hasExcluded && (context.spec.update.kind === 'proactive' || targetIsCurrent) ? 'Complete' : 'Idle';
  if (kind === 'Aborted') return 'Aborted';
  if (kind === 'Failed' || kind === 'UndoFailed') return 'Failed';
  if (context.isStopped(state)) return 'Paused';
  if (kind === 'Undoing') return 'Undoing';
  return context.waits.all.some(({ kind: what }) => WAITING_KINDS.has(what)) ? 'Waiting' : 'RollingOut';
}
