import { CAPS } from '../../api/lib/caps.ts';
import type { RolloutStatus } from '../../api/pool/pool.ts';
import { seenOf, subjectOf, verdictOf, whyFailed } from './checks/check.ts';
import type { RolloutContext } from './state/context.ts';
import { failuresThatCount, halted, isFull } from './state/state.ts';

/** Halts the rollout, or undoes it, after too many failures; too many failures during an undo halt the undo. */
export function haltForFailures(context: RolloutContext, state: RolloutStatus): RolloutStatus {
  const { input, spec, current, now } = context;
  const { onFailure, maxFailures } = spec.rollout;
  const isUndo = state.halted?.kind === 'Undoing';
  if (isUndo && input.templateOf(current) === undefined)
    return halted(
      state,
      'UndoFailed',
      { by: 'drover', reason: `the template of revision ${current} is no longer kept` },
      now,
    );
  const failures = failuresThatCount(state);
  // A completed rollout is not judged by rules that may have changed since.
  if (state.completedAt !== undefined) return state;
  const isTooMany = failures.length > maxFailures && onFailure !== 'Continue';
  if (!isTooMany && !isFull(state)) return state;
  const { vm, message } = (isTooMany ? failures : state.failures).at(-1)!;
  const failed = failures.length === 1 ? '1 VM' : `${failures.length} VMs`;
  const limit = isTooMany
    ? `${failed} failed, and maxFailures allows ${maxFailures}`
    : `${CAPS.failures} VMs or more failed, and no rollout continues with so many`;
  const summary = `${limit}; the last: ${vm}: ${message}`.slice(0, 1024);
  if (isUndo) return halted(state, 'UndoFailed', { by: 'drover', reason: summary }, now);
  return state.halted === undefined ? ended(context, state, isTooMany ? onFailure : 'Pause', summary) : state;
}

/** Halts the rollout, or undoes it, once the check of the step that it waits at has failed. */
export function haltForCheck(context: RolloutContext, state: RolloutStatus): RolloutStatus {
  const { input, spec, newest, current } = context;
  const { steps, onFailure } = spec.rollout;
  const check = steps[state.step]?.then.check;
  const isCareful = spec.update.kind === 'proactive' && current !== newest;
  if (check === undefined || !isCareful || state.completedAt !== undefined || state.halted !== undefined) return state;
  if (context.isStopped(state)) return state;
  const seen = seenOf(check, input.pool.status?.check, subjectOf(check, state), input.now);
  if (seen === null || verdictOf(check, seen) !== 'Failed') return state;
  const reason = `the check of step ${state.step + 1} of ${steps.length} has failed: ${whyFailed(check, seen)}`;
  return ended(context, state, check.onFailure ?? onFailure, reason.slice(0, 1024));
}

/** Ends the rollout as the pool wants that after a failure, as far as there is something to go back to. */
function ended(
  { input, newest, current, now }: RolloutContext,
  state: RolloutStatus,
  onFailure: 'Pause' | 'Undo' | 'Continue',
  reason: string,
): RolloutStatus {
  const canUndo = onFailure === 'Undo' && current !== newest && input.templateOf(current) !== undefined;
  return halted(state, canUndo ? 'Undoing' : 'Failed', { by: 'drover', reason }, now);
}
