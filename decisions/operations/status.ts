import { CHANGE_CAUSE_ANNOTATION } from '../../api/names.ts';
import { MAX_FAILURES_TOLD, MAX_NAMES_TOLD, MAX_WAITS_TOLD } from '../../api/operations/limits.ts';
import type { OperationStatus } from '../../api/operations/operation.ts';
import type { EndReason, OperationCondition, ProgressingReason } from '../../api/operations/reasons.ts';
import type { Condition } from '../../api/pool/status.ts';
import { withTime } from '../owners/conditions.ts';
import { ACTION_LABELS } from '../power/action.ts';
import { powerOutline, type PowerProgress } from '../power/progress.ts';
import type { StoredOperation } from '../views/stored-operation.ts';

const MESSAGE_LENGTH = 1_024;

/** How an operation stands: what its run says of it, and how it ended if it has. */
export interface Standing {
  /** Null before the run has begun. */
  progress: PowerProgress | null;
  /** Null while it goes on. */
  end: { reason: EndReason; message: string } | null;
  /** Of its workflow in Temporal. */
  workflowId: string;
}

/** Returns the status that the operation should have. `now`: RFC 3339. */
export function operationStatus(operation: StoredOperation, standing: Standing, now: string): OperationStatus {
  const { metadata, spec, status } = operation;
  const { progress, end, workflowId } = standing;
  const startTime = status?.startTime ?? (progress === null ? undefined : now);
  return {
    observedGeneration: metadata.generation ?? 0,
    ...(spec.requestedBy === undefined ? {} : { requestedBy: spec.requestedBy }),
    workflowId,
    ...(startTime === undefined ? {} : { startTime }),
    ...(end === null ? {} : { completionTime: status?.completionTime ?? now }),
    ...(progress === null ? told(status) : tell(progress, nameIn(operation))),
    conditions: conditionsOf(operation, standing).map((condition) => ({
      ...withTime(operation, condition, now),
      observedGeneration: metadata.generation ?? 0,
    })),
  };
}

/** What an earlier run has told, for one that can't be asked any more. */
const told = ({ vms, failures, waits }: OperationStatus = {}): Partial<OperationStatus> => ({
  ...(vms === undefined ? {} : { vms }),
  ...(failures === undefined ? {} : { failures }),
  ...(waits === undefined ? {} : { waits }),
});

function tell(
  progress: PowerProgress,
  nameOf: (key: string) => string,
): Pick<OperationStatus, 'vms' | 'inProgress' | 'failures' | 'waits'> {
  const { chosen, done, failed, inProgress, open, skipped, full } = progress;
  const failures = failed.slice(-MAX_FAILURES_TOLD).map(({ vm, why, wasDown }) => ({
    vm: nameOf(vm),
    why,
    ...(wasDown ? { wasDown: true as const } : {}),
  }));
  const waits = [
    ...skipped.map(({ why, isExcluded, count, vms }) => ({
      why,
      vms: count,
      names: vms.slice(0, MAX_NAMES_TOLD).map(nameOf),
      ...(isExcluded ? { excluded: true as const } : {}),
    })),
    ...full.map((why) => ({ why })),
  ];
  return {
    vms: {
      chosen,
      done: done.length,
      failed: failed.length,
      inProgress: inProgress.length,
      open,
      excluded: skipped.reduce((sum, { isExcluded, count }) => sum + (isExcluded ? count : 0), 0),
    },
    ...(inProgress.length === 0 ? {} : { inProgress: inProgress.slice(0, MAX_NAMES_TOLD).map(nameOf) }),
    ...(failures.length === 0 ? {} : { failures }),
    ...(waits.length === 0 ? {} : { waits: waits.slice(0, MAX_WAITS_TOLD) }),
  };
}

/** Returns what the status calls a VM, of which `key` is `namespace/name`. */
const nameIn = ({ metadata: { namespace } }: StoredOperation): ((key: string) => string) =>
  namespace === undefined ? (key) => key : (key) => key.slice(namespace.length + 1);

/** Returns how the operation ended, by what its run has come to. */
export function endOf(progress: PowerProgress): NonNullable<Standing['end']> {
  const { failed, open, aborted } = progress;
  const numbers = powerOutline(progress).end;
  if (aborted !== null) return { reason: 'Aborted', message: `${numbers}; aborted by ${aborted.by}${why(aborted)}` };
  if (failed.length > 0) return { reason: 'VmsFailed', message: `${numbers}, ${failed.length} failed` };
  if (open > 0) return { reason: 'Incomplete', message: `${numbers}, ${open} left that could not be touched` };
  return { reason: 'Complete', message: numbers };
}

const why = (request: { why: string | null }): string => (request.why === null ? '' : `: ${request.why}`);

function conditionsOf(operation: StoredOperation, { progress, end }: Standing): OperationCondition[] {
  const paused = pausedCondition(operation, progress);
  if (end !== null) {
    const message = end.message.slice(0, MESSAGE_LENGTH);
    const { reason } = end;
    const said = { status: 'True', reason, message } as const;
    const outcome: OperationCondition[] =
      reason === 'Complete'
        ? [
            { ...said, type: 'Ready' },
            { ...said, type: 'Complete', reason },
          ]
        : [
            { ...said, type: 'Ready', status: 'False' },
            { ...said, type: 'Stalled' },
            { ...said, type: 'Failed', reason },
          ];
    return [...outcome, { ...said, type: 'Progressing', status: 'False' }, paused];
  }
  const reason = progressingReason(operation, progress, paused.status === 'True');
  const isHeld = reason === 'Paused';
  const said = { reason, message: progress === null ? 'no VM was begun with' : numbersOf(progress) };
  return [
    { ...said, type: 'Ready', status: 'False' },
    ...(isHeld ? [] : [{ ...said, type: 'Reconciling', status: 'True' } as const]),
    { ...said, type: 'Progressing', status: isHeld ? 'False' : 'True' },
    paused,
  ];
}

function progressingReason(
  { spec, metadata }: StoredOperation,
  progress: PowerProgress | null,
  isPaused: boolean,
): ProgressingReason {
  if (spec.aborted === true || metadata.deletionTimestamp !== undefined || progress?.aborted) return 'Aborting';
  return isPaused ? 'Paused' : ACTION_LABELS[spec.action].doing;
}

function numbersOf({ action, chosen, done, failed, inProgress, open }: PowerProgress): string {
  const parts = [
    `${done.length} of ${chosen} VMs ${ACTION_LABELS[action].done.toLowerCase()}`,
    `${inProgress.length} in progress`,
    `${open} to go`,
    ...(failed.length === 0 ? [] : [`${failed.length} failed`]),
  ];
  return parts.join(', ');
}

function pausedCondition(
  { spec, metadata }: StoredOperation,
  progress: PowerProgress | null,
): OperationCondition & { status: Condition['status'] } {
  if (spec.paused === true)
    return {
      type: 'Paused',
      status: 'True',
      reason: 'PausedBySpec',
      message: metadata.annotations?.[CHANGE_CAUSE_ANNOTATION] ?? 'spec.paused is true',
    };
  const paused = progress?.paused ?? null;
  if (paused !== null && paused.by !== BY_SPEC)
    return { type: 'Paused', status: 'True', reason: 'PausedByUser', message: `by ${paused.by}${why(paused)}` };
  return { type: 'Paused', status: 'False', reason: 'NotPaused', message: '' };
}

/** Who pauses and aborts a run because its object says so. */
export const BY_SPEC = 'its operation';
