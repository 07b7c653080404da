import { durationMs } from '../../api/lib/duration.ts';
import { DEFAULT_AT_ONCE, DEFAULT_DEADLINE } from '../../api/operations/defaults-and-limits.ts';
import type { OperationSpec } from '../../api/operations/operation.ts';
import type { Transition, Within } from '../machine-types/transition.ts';
import type { OperationRef } from './ref.ts';

const RUN_STATES = { Running: 'running', Stopped: 'stopped' } as const;

/**
 * Returns the change of machine types that an operation asks for, whose action is that. `within`: the namespaces that
 * it includes now. It is only reported by default, so namespaces that are selected by labels need not be known.
 */
export function transitionOf(
  { metadata, spec }: { metadata: Pick<OperationRef, 'namespace'>; spec: OperationSpec },
  within: Within = { namespaces: metadata.namespace === undefined ? listedIn(spec) : [metadata.namespace] },
): Transition {
  const { vms, machineType = {}, maxFailures = 0, deadline = DEFAULT_DEADLINE } = spec;
  const { from = '*', to = null, undoes = null, restart = false, force = false } = machineType;
  return {
    scope: {
      glob: from,
      ...within,
      labelSelector: vms.selector ?? null,
      names: vms.names ?? [],
      exclude: vms.exclude ?? [],
      only: vms.runState === undefined ? null : RUN_STATES[vms.runState],
      undoes,
    },
    to,
    restartNow: restart,
    maxRestarts: spec.atOnce ?? DEFAULT_AT_ONCE.MachineType,
    maxFailures,
    deadlineMs: durationMs(deadline),
    windows: spec.windows ?? [],
    ...orderIn(spec),
    force,
    requestedBy: spec.requestedBy ?? 'unknown',
    reason: spec.reason ?? null,
  };
}

const orderIn = ({ order }: OperationSpec): Pick<Transition, 'order'> => (order === undefined ? {} : { order });

const listedIn = ({ namespaces }: OperationSpec): string[] | null => namespaces ?? null;
