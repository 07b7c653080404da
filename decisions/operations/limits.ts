import { durationMs } from '../../api/lib/duration.ts';
import { countOf } from '../../api/lib/int-or-percent.ts';
import { DEFAULT_AT_ONCE, DEFAULT_DEADLINE } from '../../api/operations/defaults-and-limits.ts';
import type { StoredOperation } from '../views/stored-operation.ts';

/** What a run may do for an operation. */
export interface RunLimits {
  /**
   * How many VMs may be starting or stopping at once; of a restart, how many of the chosen may be unready at once,
   * whatever the cause.
   */
  atOnce: number;
  /** More failures than this end the run. */
  maxFailures: number;
  /**
   * Milliseconds that a VM may take to be ready or to stop, and that the run waits at the end for VMs that can't be
   * touched now.
   */
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
