import { UNKNOWN_USER } from '../../../api/requested-by.ts';
import { formatNumbers } from '../../../decisions/runs/report.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { isOver, outlineOf, progressOf, stateOf } from '../../operations/print-operations.ts';
import type { OperationCard } from '../contract/fleet.ts';
import { operationActions, type WhyNot } from './actions.ts';
import { windowsOf } from './owner-part.ts';

/** Ends that are as the user asked. */
const WELL = new Set(['Complete', 'Aborted']);
const NO_VMS = { chosen: 0, done: 0, failed: 0, inProgress: 0, open: 0, excluded: 0 };
const SKIPS = 50;
const FAILURES = 50;

/** `now`: milliseconds since the epoch. */
export function operationCard(operation: StoredOperation, whyNot: WhyNot, now: number): OperationCard {
  const { metadata, spec, status } = operation;
  const { namespace = null, name } = metadata;
  const progress = progressOf(operation);
  const state = stateOf(operation);
  const outline = outlineOf(operation);
  return {
    id: namespace === null ? `cvmop/${name}` : `vmop/${namespace}/${name}`,
    namespace,
    name,
    action: spec.action,
    transition: transitionOf(operation),
    state,
    tone: toneOf(operation, state),
    sentence: outline.end,
    numbers: formatNumbers(outline),
    isOver: isOver(operation),
    isPaused: progress.paused !== null || spec.paused === true,
    ...(status?.vms ?? NO_VMS),
    requestedBy: status?.requestedBy ?? spec.requestedBy ?? UNKNOWN_USER,
    reason: spec.reason ?? null,
    createdAt: metadata.creationTimestamp,
    endedAt: status?.completionTime ?? null,
    windows: windowsOf(spec.windows ?? [], now),
    skips: (status?.waits ?? []).slice(0, SKIPS).map(({ message, vms, names = [], excluded: isExcluded = false }) => ({
      message,
      count: vms ?? null,
      names,
      isExcluded,
    })),
    failures: (status?.failures ?? []).slice(-FAILURES).map(({ vm, message }) => ({ vm, message })),
    actions: operationActions(operation, whyNot),
  };
}

function toneOf(operation: StoredOperation, state: string): OperationCard['tone'] {
  if (isOver(operation)) return WELL.has(state) ? 'good' : 'bad';
  if ((operation.status?.vms?.failed ?? 0) > 0 || operation.spec.paused === true) return 'warn';
  return 'busy';
}

function transitionOf({ spec }: StoredOperation): OperationCard['transition'] {
  if (spec.machineType === undefined) return null;
  const { from = '', to = 'the default', undoes, restart } = spec.machineType;
  const types = undoes === undefined ? { from, to } : { from: `undo of ${undoes}`, to: 'as before' };
  return { ...types, restartedBy: restart === true ? 'drover' : 'owners' };
}
