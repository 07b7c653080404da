import { CHANGE_CAUSE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { conditionOf } from '../../api/objects.ts';
import type { OperationAction, OperationStatus } from '../../api/operations/operation.ts';
import { UNKNOWN_USER } from '../../api/requested-by.ts';
import { transitionOutline } from '../../decisions/machine-types/transition.ts';
import { outlinedTransition } from '../../decisions/operations/action-report.ts';
import { OPERATION_LABELS } from '../../decisions/operations/operation-labels.ts';
import { operationName, operationResource } from '../../decisions/operations/ref.ts';
import { specRequester } from '../../decisions/operations/spec-requester.ts';
import { transitionOf } from '../../decisions/operations/transition.ts';
import type { RunOutline, RunProgress } from '../../decisions/runs/progress.ts';
import { because, formatCounts, formatPace, formatVms } from '../../decisions/runs/report.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import { ageOf, printNote, print, printObjects, table, type DataFormat, labelOf } from '../cli/print.ts';
import { runLines } from '../runs/run-lines.ts';

export const nameOf = ({ metadata }: StoredOperation): string => operationName(metadata);

/** How it stands, in a word: `Pending` before a worker has looked at it. */
export const stateOf = (operation: StoredOperation): string =>
  conditionOf(operation.status, 'Progressing')?.reason ?? 'Pending';

export const isOver = ({ status }: StoredOperation): boolean => status?.completionTime !== undefined;

/** What the names of pools begin with, among those of VMs. */
const POOL = 'pool ';

/** What the status of an operation tells, as all runs report it. */
export function progressOf(operation: StoredOperation): RunProgress {
  const { metadata, status = {} } = operation;
  const key = (name: string): string =>
    name.startsWith(POOL)
      ? `${POOL}${operationName({ ...metadata, name: name.slice(POOL.length) })}`
      : operationName({ ...metadata, name });
  const { failures = [], waits = [], inProgress = [] } = status;
  const paused = conditionOf(operation.status, 'Paused');
  return {
    phase: stateOf(operation),
    failed: failures.map(({ vm, ...failure }) => ({ vm: key(vm), ...failure })),
    inProgress: inProgress.map(key),
    skipped: waits.flatMap(({ message, vms, names = [], excluded = false }) =>
      vms === undefined ? [] : [{ message, isExcluded: excluded, count: vms, vms: names.map(key) }],
    ),
    full: waits.flatMap(({ message, vms }) => (vms === undefined ? [message] : [])),
    paused: paused?.status === 'True' ? requestInfo(metadata, paused) : null,
    aborted: stateOf(operation) === 'Aborted' ? requestInfo(metadata, {}) : null,
  };
}

/** Who has asked for it, and why: by the object, if its author has said so, or else by what its status says. */
function requestInfo(metadata: StoredOperation['metadata'], { message = '', lastTransitionTime: at = '' }) {
  const by = specRequester(metadata);
  if (by !== undefined) return { by, at, reason: metadata.annotations?.[CHANGE_CAUSE_ANNOTATION] ?? null };
  return { by: 'its object', at, reason: message === '' ? null : message };
}

export function outlineOf(operation: StoredOperation): RunOutline {
  const { spec, status = {} } = operation;
  if (spec.action === 'MachineType') return outlineOfTransition(operation);
  const { action, atOnce, reason, requestedBy = UNKNOWN_USER, maxFailures = 0 } = spec;
  const { vms } = status;
  const { open, failed } = vms ?? { open: 0, failed: 0 };
  const ofPace = (chosen: number): string => (atOnce === undefined ? formatVms(chosen) : formatPace(chosen, atOnce));
  const about = vms === undefined ? 'VMs' : ofPace(vms.chosen);
  return {
    numbers: vms === undefined ? null : numbersOf(action, vms),
    end: conditionOf(operation.status, 'Progressing')?.message ?? '',
    open,
    isOver: isOver(operation),
    isTripped: stateOf(operation) === 'VmsFailed' && failed > maxFailures,
    maxFailures,
    failures: failed,
    faults: [],
    about: [`${action} of ${about}; requested by ${requestedBy}${because(reason)}`],
  };
}

function outlineOfTransition(operation: StoredOperation): RunOutline {
  const { vms, machineType } = operation.status ?? {};
  const outlined = outlinedTransition(transitionOf(operation), stateOf(operation), vms, machineType);
  const outline = transitionOutline(outlined);
  const { maxFailures, failures, open } = outline;
  return {
    ...outline,
    numbers: vms === undefined ? null : outline.numbers,
    end: isOver(operation) ? (conditionOf(operation.status, 'Progressing')?.message ?? '') : outline.end,
    isOver: isOver(operation),
    isTripped: stateOf(operation) === 'VmsFailed' && open > 0 && failures > maxFailures,
  };
}

function numbersOf(action: OperationAction, vms: NonNullable<OperationStatus['vms']>): RunOutline['numbers'] {
  return {
    done: vms.done,
    of: vms.chosen,
    doneAs: OPERATION_LABELS[action].done.toLowerCase(),
    others: formatCounts([
      [vms.inProgress, 'in progress'],
      [vms.open, 'to go'],
      [vms.failed, 'failed'],
    ]),
  };
}

/** Ends whose message tells no more than the numbers and the reports of VMs do. */
const EVIDENT_FROM_COUNTS = new Set(['Complete', 'VmsFailed', 'Incomplete', 'Aborted']);

/** `now`: milliseconds since the epoch. */
export function linesOf(operation: StoredOperation, now: number): string[] {
  const outline = outlineOf(operation);
  const sentence = sentenceOf(operation, isOver(operation) ? outline.end : '');
  return runLines(nameOf(operation), { progress: progressOf(operation), outline, sentence }, now);
}

function sentenceOf(operation: StoredOperation, end: string): string {
  const state = stateOf(operation);
  if (state === 'Pending') return 'waiting for a worker to pick it up';
  const { chosen = 0, done = 0, excluded = 0 } = operation.status?.vms ?? {};
  // VMs to which nothing was to be done are not among the numbers.
  const isMore = state === 'Complete' && done + excluded < chosen;
  return EVIDENT_FROM_COUNTS.has(state) && !isMore ? '' : end;
}

export type OperationsFormat = DataFormat | 'name';

/** Prints the operations, the newest first, or says that there are none. `action`: of all of them. */
export async function printOperations(
  operations: StoredOperation[],
  output?: OperationsFormat,
  action?: OperationAction,
): Promise<void> {
  const sorted = operations.toSorted((a, b) =>
    b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp),
  );
  if (output === 'json' || output === 'yaml') return printObjects(sorted, output, { isOne: false });
  if (output === 'name' && sorted.length === 0) return;
  if (output === 'name')
    return print(sorted.map(({ metadata }) => labelOf(operationResource(metadata), metadata.name)).join('\n'));
  if (sorted.length === 0) return printNote('there is no operation');
  const isOfTypes = action === 'MachineType';
  const rows = sorted.map((operation) => {
    const { metadata, spec, status } = operation;
    const { chosen = 0, done = 0, failed = 0 } = status?.vms ?? {};
    const about = isOfTypes
      ? [stateOf(operation), ...typesOf(spec)]
      : [OPERATION_LABELS[spec.action].verb, stateOf(operation), chosen];
    const { requestedBy = '<unknown>', reason = '<none>' } = spec;
    return [
      metadata.namespace ?? '<cluster>',
      metadata.name,
      ...about,
      done,
      failed,
      ageOf(metadata.creationTimestamp),
      requestedBy,
      reason,
    ];
  });
  const about = isOfTypes ? ['STATE', 'FROM', 'TO', 'RESTARTED BY'] : ['ACTION', 'STATE', 'VMS'];
  const headers = ['NAMESPACE', 'NAME', ...about, 'DONE', 'FAILED', 'AGE', 'REQUESTED BY', 'REASON'];
  print(table(headers, rows));
}

/** Which types become which, and who restarts VMIs for that. */
function typesOf({ machineType = {} }: StoredOperation['spec']): string[] {
  const { from = '', to = '<default>', undoes, restart } = machineType;
  const types = undoes === undefined ? [from, to] : [`undo of ${undoes}`, '<as before>'];
  return [...types, restart === true ? 'drover' : 'owners'];
}
