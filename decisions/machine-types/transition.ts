import type { IntOrPercent } from '../../api/int-or-percent.ts';
import type { LabelSelector, MaintenanceWindow } from '../../api/pool/pool.ts';
import type { PassedOver } from '../runs/skipped.ts';
import type { Steered } from '../runs/user-request.ts';

/** Which VMs a transition is about; each condition narrows it further. */
export interface TransitionScope {
  /** Of machine types, as Go's `path.Match` reads it. */
  glob: string;
  /** Null: all of them. */
  namespaces: string[] | null;
  labelSelector: LabelSelector | null;
  /** `name` or `namespace/name`; empty: whatever their names. */
  names: string[];
  /** Globs of `name` or `namespace/name`. */
  exclude: string[];
  only: 'running' | 'stopped' | null;
  /** Id of the transition that is undone: then what that one has changed is in scope, whatever its type. */
  undoes: string | null;
}

/** What a person asked for. */
export interface Transition {
  scope: TransitionScope;
  /** The machine type to be set; null: cleared, so that the preference's or the cluster's default fills it in. */
  to: string | null;
  /**
   * Restart the guests that still have the old type; else they are marked, and followed until their owners have done
   * so.
   */
  restartNow: boolean;
  /** Of the running VMs in scope, that may be not ready at once, whatever the cause; at least one. */
  maxRestarts: IntOrPercent;
  /** More failed restarts than that end it. */
  maxFailures: number;
  /** How long a VM may take to be ready again. */
  deadlineMs: number;
  /** Restarts begin only inside one of them; none: at any time. */
  windows: MaintenanceWindow[];
  /** Go on where the preflight would refuse. */
  force: boolean;
  askedBy: string;
  reason: string | null;
}

/**
 * What a VM, or a pool, carries of the last transition that changed it, as an annotation in JSON; kept after its end,
 * for `undo` and `report`.
 */
export interface TransitionRecord {
  /** Of the transition. */
  id: string;
  /**
   * Of its spec, before and after; the same for an alias, whose guest alone had the old type. Empty where a pool's
   * template has none.
   */
  from: string;
  to: string;
  /** Type of the guest that ran then; null where none did. */
  guest: string | null;
  /** UID of that guest (VMI). */
  guestUid?: string;
  /** RFC 3339. */
  at: string;
}

/** How a transition stands with the VMs in its scope; each counts in one. */
export interface TransitionCounts {
  /** Its spec, or its guest, still has the old type, and nothing stands in the way. */
  toPatch: number;
  toRestart: number;
  /** Its spec is changed; its owner is to restart it. */
  waiting: number;
  /** Its pool rolls it. */
  inPools: number;
  /** Paused, migrating, in a snapshot: taken up later. */
  parked: number;
  /** In hand: restarted, and not yet seen to be ready with the new type. */
  restarting: number;
  /** Left alone for good: told with the reason. */
  left: number;
  /** Changed by this transition, and nothing left to be done. */
  done: number;
}

export type TransitionPhase =
  | 'Checking'
  | 'Changing'
  | 'Waiting'
  | 'Paused'
  | 'Complete'
  | 'Failed'
  | 'Refused'
  | 'Aborted';

/** VMs whose type comes out the same where it is cleared or set. */
export interface TypeGroup {
  from: string;
  /** The type to be set; null: cleared. */
  wanted: string | null;
  architecture: string | null;
  /** `kind/name`. */
  preference: string | null;
}

/** Resulting type of the VMs of a group, found by a server-side dry run. */
export interface TransitionResult extends TypeGroup {
  /** Empty where nothing fills it in. */
  to: string;
  vms: number;
  /** Why it won't do; null where it will. */
  fault: string | null;
}

/** How a transition stands. VMs are named by `namespace/name`. */
export interface TransitionProgress extends Steered {
  id: string;
  phase: TransitionPhase;
  transition: Transition;
  results: TransitionResult[];
  counts: TransitionCounts;
  /** Patched and restarted by drover since it began. */
  patched: number;
  restarted: number;
  /** At most 250 of them in words; the rest is counted. */
  failed: { vm: string; why: string }[];
  failures: number;
  inHand: string[];
  passedOver: PassedOver[];
  /** Budgets that are full, and what fills them; a window that is closed. */
  full: string[];
  /** How many restarts at a time, worked out at the beginning. */
  maxRestarts: number;
  startedAt: string;
}
