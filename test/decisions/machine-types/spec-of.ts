import type { OperationSpec } from '../../../api/operations/operation.ts';
import { durationText } from '../../../clients/operations/make.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';

/** Returns what an operation asks for, so that `transitionOf` finds the transition in it again. */
export function specOf(transition: Transition): OperationSpec {
  const { scope, to, restartNow, windows, order, force } = transition;
  const { maxRestarts, maxFailures, deadlineMs, requestedBy, reason } = transition;
  const { glob, labelSelector, exclude, only, undoes } = scope;
  const names = scope.names.map((word) => word.slice(word.indexOf('/') + 1));
  return {
    action: 'MachineType',
    vms: {
      ...(names.length > 0 ? { names } : {}),
      ...(labelSelector === null && names.length > 0 ? {} : { selector: labelSelector ?? {} }),
      ...(only === null ? {} : { runState: only === 'running' ? 'Running' : 'Stopped' }),
      ...(exclude.length === 0 ? {} : { exclude }),
    },
    machineType: {
      ...(undoes === null ? { from: glob } : { undoes }),
      ...(to === null ? {} : { to }),
      ...(restartNow ? { restart: true } : {}),
      ...(force ? { force } : {}),
    },
    atOnce: maxRestarts,
    maxFailures,
    ...(windows.length === 0 ? {} : { windows }),
    ...(order === undefined ? {} : { order }),
    deadline: durationText(deadlineMs),
    ...(requestedBy === 'unknown' ? {} : { requestedBy }),
    ...(reason === null ? {} : { reason }),
  };
}
