import type { Condition } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { formatNames } from '../lib/names.ts';
import { withTime, type UntimedCondition } from '../owners/conditions.ts';
import { formatWaiting } from '../owners/removal-limit.ts';
import { formatTerminating, type Terminating } from '../owners/terminating.ts';
import type { BlockedSurplus } from '../scaling/surplus.ts';
import type { StoredPool } from '../views/pool.ts';
import type { RolloutPlan } from './plan.ts';
import { pauserOf } from './state/state.ts';

const MESSAGE_LENGTH = 2_048;

/**
 * Returns the rollout's conditions. `Progressing`: True while VMs are created, leave, are brought to another revision,
 * wait for that to continue, or are deleted with the pool; False with `ProgressDeadlineExceeded` while VMs that are
 * down by themselves hold up a rollout, which continues once they are back, and with `Stuck` while VMs are held by what
 * may never end. `UpToDate`: True once all VMs that the pool
 * wants run its template, which tells success from any other end. `Paused`: no batch begins. `Degraded`: VMs of the
 * newest revision have failed. `now` is RFC 3339; a condition that stays keeps its time.
 */
export function rolloutConditions(pool: StoredPool, plan: RolloutPlan, leaving: LeavingVms, now: string): Condition[] {
  const far = deleting(pool, leaving) ?? scaling(pool, plan, leaving) ?? progressing(pool, plan);
  return [far, upToDate(far, plan), paused(pool, plan), degraded(plan)].map((condition) => ({
    ...withTime(pool, condition, now),
    message: (condition.message ?? '').slice(0, MESSAGE_LENGTH),
    ...(condition.type === 'UpToDate' && { observedGeneration: pool.metadata.generation ?? 0 }),
  }));
}

const progress = (
  status: 'True' | 'False',
  reason: ConditionReason<'Progressing'>,
  ...parts: readonly string[]
): UntimedCondition<'Progressing'> => ({ type: 'Progressing', status, reason, message: parts.join('; ') });

/** VMs that are to leave the pool. */
export interface LeavingVms {
  /** Surplus VMs that stay: nothing is done about them. */
  blocked: BlockedSurplus | null;
  /** How many wait until others have gone. */
  waiting: number;
  /** VMs that are being deleted. */
  going: readonly Terminating[];
}

/** A pool that is being deleted is neither rolled out nor scaled. */
function deleting({ metadata }: StoredPool, { waiting, going }: LeavingVms): UntimedCondition<'Progressing'> | null {
  if (metadata.deletionTimestamp === undefined) return null;
  return progress(
    'True',
    'Deleting',
    'the pool is being deleted',
    ...formatTerminating(going),
    ...formatWaiting(waiting),
  );
}

/** The existing VMs run the template, but are not as many as the pool wants. */
function scaling(
  { spec }: StoredPool,
  { phase, target, present }: RolloutPlan,
  { blocked, waiting, going }: LeavingVms,
): UntimedCondition<'Progressing'> | null {
  if (phase !== 'Complete' || present === spec.replicas) return null;
  const counts = `${present} of ${spec.replicas} VMs exist, of revision ${target}`;
  if (present < spec.replicas)
    return progress('True', 'ScalingOut', counts, ...formatNotReplacedYet(going), ...formatTerminating(going));
  return blocked === null || present - spec.replicas > blocked.count
    ? progress('True', 'ScalingIn', counts, ...formatTerminating(going), ...formatWaiting(waiting))
    : progress('False', 'Complete', counts, blocked.message);
}

/** A VM that goes may run until it is gone: none is made in its place before that. */
function formatNotReplacedYet(going: readonly Terminating[]): string[] {
  const names = formatNames(going.map(({ name }) => name));
  if (going.length === 0) return [];
  return going.length === 1
    ? [`${names} is being deleted, and keeps its place until it is gone`]
    : [`${names} are being deleted, and keep their places until they are gone`];
}

function upToDate(
  { reason, message }: UntimedCondition<'Progressing'>,
  plan: RolloutPlan,
): UntimedCondition<'UpToDate'> {
  if (reason !== 'Complete') return { type: 'UpToDate', status: 'False', reason, message: message ?? '' };
  const { target, present, updated, behind } = plan;
  const optedOut = present - updated - behind;
  const but = optedOut === 0 ? '' : `, but ${optedOut} whose ${optedOut === 1 ? 'owner' : 'owners'} opted out`;
  return { type: 'UpToDate', status: 'True', reason: 'UpToDate', message: `all VMs run revision ${target}${but}` };
}

function progressing({ spec }: StoredPool, plan: RolloutPlan): UntimedCondition<'Progressing'> {
  const { phase, target, waits, updated, present, current, state } = plan;
  const waiting = [...new Set(waits.map((wait) => wait.message))].join('; ');
  // A VM that is being replaced is missing for a while.
  const all = Math.max(present, spec.replicas);
  const done =
    state.changed !== undefined && target === current
      ? `${updated} of ${all} VMs run with the current content: ${state.changed.what} changed at ${state.changed.at}`
      : `${updated} of ${all} VMs updated to revision ${target}`;
  const far = `${done}${waiting === '' ? '' : `; ${waiting}`}`;
  if ((phase === 'RollingOut' || phase === 'Undoing') && waits.some(({ kind }) => kind === 'Blocked'))
    return progress('False', 'ProgressDeadlineExceeded', far);
  if ((phase === 'RollingOut' || phase === 'Undoing') && waits.some(({ kind }) => kind === 'Stuck'))
    return progress('False', 'Stuck', far);
  switch (phase) {
    case 'Complete':
      return completion(plan, waiting);
    case 'Idle':
      return progress('False', 'OutdatedVms', waiting);
    case 'RollingOut':
      return progress('True', 'RollingOut', far);
    case 'Waiting':
      return progress('True', waitReason(waits), waiting);
    case 'Paused':
      return progress('False', 'Paused', waiting);
    case 'Undoing':
    case 'Undone':
    case 'Failed':
    case 'Aborted':
      return conditionOfEnd(phase, plan);
  }
}

/**
 * A rollout that has reached all VMs is not a success as long as some of them have failed, and have not been well
 * since.
 */
function completion(
  { openFailures, behind, target, outdatedPods }: RolloutPlan,
  waits: string,
): UntimedCondition<'Progressing'> {
  const done = `revision ${target} is rolled out`;
  const also = waits === '' ? [] : [waits];
  const failed = formatNames(openFailures.map(({ vm }) => vm));
  if (openFailures.length > 0)
    return progress('False', 'UpdateFailed', done, `failed, and not ready since: ${failed}`, ...also);
  const have = behind === 1 ? '1 VM has' : `${behind} VMs have`;
  if (behind > 0) return progress('False', 'UpdateFailed', `${have} not taken revision ${target}`, ...also);
  if (outdatedPods.vms.length > 0) return progress('False', 'OutdatedPods', done, ...outdatedPods.messages, ...also);
  return progress('False', 'Complete', waits === '' ? `all VMs have revision ${target}` : done, ...also);
}

/** `Progressing` of a rollout that was ended before all VMs had its revision. */
function conditionOfEnd(
  phase: 'Undoing' | 'Undone' | 'Failed' | 'Aborted',
  { state: { halted }, target, notBack }: RolloutPlan,
): UntimedCondition<'Progressing'> {
  const { kind = 'Failed', by = 'unknown', reason = '' } = halted ?? {};
  const behind = `not ready, or not back at revision ${target}: ${formatNames(notBack)}`;
  switch (phase) {
    case 'Undoing':
      return progress('True', 'Undoing', `VMs go back to revision ${target}: ${reason}`);
    case 'Undone':
      return notBack.length === 0
        ? progress('False', 'Undone', `VMs are back at revision ${target}: ${reason}`)
        : progress('False', 'UndoFailed', behind, `undone because: ${reason}`);
    case 'Failed':
      return progress('False', kind, reason);
    case 'Aborted':
      return progress('False', 'Aborted', `by ${by}${halted?.reason === undefined ? '' : `: ${reason}`}`);
  }
}

function waitReason(waits: RolloutPlan['waits']): ConditionReason<'Progressing'> {
  const kinds = new Set(waits.map(({ kind }) => kind));
  if (kinds.has('Approval')) return 'WaitingForApproval';
  if (kinds.has('Window')) return 'WaitingForWindow';
  return kinds.has('Check') ? 'WaitingForCheck' : 'WaitingAtStep';
}

function paused({ spec }: StoredPool, { state }: RolloutPlan): UntimedCondition<'Paused'> {
  if (state.paused !== undefined) {
    const { reason } = state.paused;
    const message = `by ${pauserOf(state.paused)}${reason === undefined ? '' : `: ${reason}`}`;
    return { type: 'Paused', status: 'True', reason: 'PausedByUser', message };
  }
  if (spec.paused === true)
    return { type: 'Paused', status: 'True', reason: 'PausedBySpec', message: 'spec.paused is true' };
  return { type: 'Paused', status: 'False', reason: 'NotPaused', message: '' };
}

function degraded({ state: { halted }, openFailures, phase, notBack }: RolloutPlan): UntimedCondition<'Degraded'> {
  if (halted !== undefined && halted.kind !== 'Aborted') {
    const ofUndo = notBack.length === 0 ? 'Undone' : 'UndoFailed';
    const reason = phase === 'Undone' ? ofUndo : halted.kind;
    return { type: 'Degraded', status: 'True', reason, message: halted.reason ?? '' };
  }
  if (openFailures.length === 0) return { type: 'Degraded', status: 'False', reason: 'NoFailures', message: '' };
  const message = openFailures.map(({ vm, message: reason }) => `${vm}: ${reason}`).join('; ');
  return { type: 'Degraded', status: 'True', reason: 'UpdateFailed', message };
}
