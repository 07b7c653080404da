import type { HealingRules } from '../../api/rules/pool-defaults.ts';

/**
 * Identifies an attempt: one replacement of an unhealthy VM. Another cycle of the same VM may count the same attempt.
 */
export interface AttemptId {
  vm: string;
  /** UID of the VM that is replaced. */
  uid: string;
  attempt: number;
  /** RFC 3339: when the attempt's cycle began. */
  startedAt: string;
}

/** The unhealthy VM is gone. */
export interface Removed {
  keptDisks: boolean;
  /** RFC 3339: when the new VM may be created. */
  nextAt: string;
}

/** How an attempt ended. The delay of a `Removed` is over. */
export type AttemptEnd =
  | ({ end: 'Removed' } & Removed)
  /** The VM should no longer be replaced, or the API server refuses to delete it. */
  | { end: 'Kept'; message: string }
  | { end: 'Refused'; message: string }
  | { end: 'Cancelled'; isRemoved: boolean };

/** The rules that an attempt follows; all others concern the pool alone. */
export type AttemptRules = Pick<HealingRules, 'backoff' | 'maxAttempts'>;

/** A VM that is to be replaced. */
export interface FoundUnhealthy {
  name: string;
  uid: string;
  /** Which replacement of the VM this will be; from 1. */
  attempt: number;
  message: string;
  /** The role of a VM that is not a replica: its successor has the same role. */
  role?: 'Standby';
}

/** What an attempt needs to know of the VM that it replaces. */
export interface UnhealthyVm extends FoundUnhealthy {
  rules: AttemptRules;
  /** The VM has run well, or may have: its disks hold data. */
  mayHaveData: boolean;
  /** How many of its VMIs in a row ended before they ran well. */
  earlyExits: number;
  /**
   * Since when its starts have been failing, in milliseconds since the epoch; null or absent if only KubeVirt's own
   * time is known.
   */
  failingSince?: number | null;
  /** Since when it is no longer left alone, in milliseconds since the epoch; null or absent if it was not. */
  pauseEndedAt?: number | null;
}

export interface PlannedAttempt {
  unhealthyVm: UnhealthyVm;
  startedAt: string;
  /** Absent if the VM is still to be removed. */
  removed?: Removed;
  /** A user asked not to wait. */
  skipDelay: boolean;
  /** It may have been begun before. */
  isAgain: boolean;
}

export const attemptIdOf = ({ vm, uid, attempt, startedAt }: AttemptId): AttemptId => ({ vm, uid, attempt, startedAt });

/** Whether the attempt has deleted its VM. */
export const isRemoval = (outcome: AttemptEnd): boolean =>
  outcome.end === 'Removed' || (outcome.end === 'Cancelled' && outcome.isRemoved);

/** `1 replacement`, `2 replacements`. */
export const formatReplacements = (count: number): string => `${count} ${count === 1 ? 'replacement' : 'replacements'}`;
