import { durationMs } from '../../api/lib/duration.ts';
import { countOf } from '../../api/lib/int-or-percent.ts';
import { DEFAULT_AT_ONCE, DEFAULT_DEADLINE } from '../../api/operations/defaults-and-limits.ts';
import type { StoredOperation } from '../views/stored-operation.ts';

/** What a run may do for an operation; see `PowerVmsInput`. */
export interface RunLimits {
  atOnce: number;
  maxFailures: number;
  deadlineMs: number;
}

/** Returns the limits of an operation over this many VMs. */
export function limitsOf({ spec }: Pick<StoredOperation, 'spec'>, vms: number): RunLimits {
  const { action, patch } = spec;
  const {
    atOnce = DEFAULT_AT_ONCE[patch?.restart === true ? 'Restart' : action],
    maxFailures = 0,
    deadline = DEFAULT_DEADLINE,
  } = spec;
  const count = Math.max(vms, 1);
  return { atOnce: Math.min(countOf(atOnce, count, 1), count), maxFailures, deadlineMs: durationMs(deadline) };
}
