import { MAX_FAILURES_LISTED, MAX_NAMES_LISTED, MAX_WAITS_LISTED } from '../../api/operations/defaults-and-limits.ts';
import type { OperationStatus } from '../../api/operations/operation.ts';
import type { EndReason, OperationCondition, ProgressingReason } from '../../api/operations/reasons.ts';
import type { Condition } from '../../api/pool/status.ts';
import { withTime } from '../owners/conditions.ts';
import type { FailedVm } from '../runs/progress.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import { actionReport, type OperationProgress } from './action-report.ts';
import { OPERATION_LABELS } from './operation-labels.ts';
import { whyAsked } from './spec-requester.ts';
import { PAUSED } from './why-refused.ts';

const MESSAGE_LENGTH = 1_024;

/** How an operation stands: what its run reports, and how it ended if it has. */
export interface ObservedRun {
  /** Null before the run has begun. */
  progress: OperationProgress | null;
  /** Null while it continues. */
  end: { reason: EndReason; message: string } | null;
  /** Of its workflow in Temporal. */
  workflowId: string;
}

/** Returns the status that the operation should have. `now`: RFC 3339. */
export function operationStatus(operation: StoredOperation, observed: ObservedRun, now: string): OperationStatus {
  const { metadata, spec, status } = operation;
  const { progress, end, workflowId } = observed;
  const startTime = status?.startTime ?? (progress === null ? undefined : now);
  return {
    observedGeneration: metadata.generation ?? 0,
    ...(spec.requestedBy === undefined ? {} : { requestedBy: spec.requestedBy }),
    workflowId,
    ...(startTime === undefined ? {} : { startTime }),
    ...(end === null ? {} : { completionTime: status?.completionTime ?? now }),
    ...(progress === null ? kept(status) : reported(progress, nameIn(operation))),
    conditions: conditionsOf(operation, observed).map((condition) => ({
      ...withTime(operation, condition, now),
      observedGeneration: metadata.generation ?? 0,
    })),
  };
}

/** What an earlier run has reported. */
const kept = ({ vms, failures, waits, machineType }: OperationStatus = {}): Partial<OperationStatus> => ({
  ...(vms === undefined ? {} : { vms }),
  ...(failures === undefined ? {} : { failures }),
  ...(waits === undefined ? {} : { waits }),
  ...(machineType === undefined ? {} : { machineType }),
});

function reported(progress: OperationProgress, nameOf: (key: string) => string): Partial<OperationStatus> {
  const { failed, inProgress, skipped, full } = progress;
  const { vms, machineType } = actionReport(progress);
  const failures = failed.slice(-MAX_FAILURES_LISTED).map(({ vm, message, wasDown }) => ({
    vm: nameOf(vm),
    message,
    ...(wasDown === true && { wasDown }),
  }));
  const waits = [
    ...skipped.map(({ message, isExcluded, count, vms }) => ({
      message,
      vms: count,
      names: vms.slice(0, MAX_NAMES_LISTED).map(nameOf),
      ...(isExcluded ? { excluded: true as const } : {}),
    })),
    ...full.map((message) => ({ message: message.slice(0, MESSAGE_LENGTH) })),
  ];
  return {
    vms,
    ...(machineType === undefined ? {} : { machineType }),
    ...(inProgress.length === 0 ? {} : { inProgress: inProgress.slice(0, MAX_NAMES_LISTED).map(nameOf) }),
    ...(failures.length === 0 ? {} : { failures }),
    ...(waits.length === 0 ? {} : { waits: waits.slice(0, MAX_WAITS_LISTED) }),
  };
}

/** Returns which VMs have failed by the status, which names a hundred of them at most. */
export const failuresIn = ({ metadata: { namespace }, status }: StoredOperation): FailedVm[] =>
  (status?.failures ?? []).map(({ vm, message, wasDown }) => ({
    vm: namespace === undefined ? vm : vm.replace(/[^ ]+$/, (name) => `${namespace}/${name}`),
    message,
    ...(wasDown === true && { wasDown }),
  }));

/** Returns the status with what an activity keeps failing with, in place of what it has failed with before. */
export function withTrouble(
  { waits = [], ...status }: OperationStatus,
  activity: string,
  { times, message }: { times: number; message: string },
): OperationStatus {
  const before = `${activity} has failed `;
  const trouble = `${before}${times} times, and is tried again: ${message}`.slice(0, MESSAGE_LENGTH);
  const others = waits.filter((wait) => !wait.message.startsWith(before)).slice(0, MAX_WAITS_LISTED - 1);
  return { ...status, waits: [...others, { message: trouble }] };
}

/** Returns what the status calls a VM, of which `key` is `namespace/name`, or a pool: `pool namespace/name`. */
const nameIn = ({ metadata: { namespace } }: StoredOperation): ((key: string) => string) =>
  namespace === undefined ? (key) => key : (key) => key.replace(`${namespace}/`, '');

function conditionsOf(operation: StoredOperation, { progress, end }: ObservedRun): OperationCondition[] {
  const paused = pausedCondition(operation);
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
  const isPaused = reason === 'Paused';
  const said = { reason, message: progress === null ? 'no VM was started on' : actionReport(progress).numbers };
  return [
    { ...said, type: 'Ready', status: 'False' },
    ...(isPaused ? [] : [{ ...said, type: 'Reconciling', status: 'True' } as const]),
    { ...said, type: 'Progressing', status: isPaused ? 'False' : 'True' },
    paused,
  ];
}

function progressingReason(
  { spec, metadata }: StoredOperation,
  progress: OperationProgress | null,
  isPaused: boolean,
): ProgressingReason {
  if (spec.aborted === true || metadata.deletionTimestamp !== undefined || progress?.aborted) return 'Aborting';
  if (isPaused) return 'Paused';
  return progress === null ? OPERATION_LABELS[spec.action].doing : actionReport(progress).doing;
}

const pausedCondition = ({ spec, metadata }: StoredOperation): OperationCondition & { status: Condition['status'] } =>
  spec.paused === true
    ? { type: 'Paused', status: 'True', reason: 'PausedBySpec', message: whyAsked(metadata, PAUSED) }
    : { type: 'Paused', status: 'False', reason: 'NotPaused', message: '' };

/** The requester named when a run is paused or aborted because its object says so. */
export const BY_OPERATION = 'its operation';
