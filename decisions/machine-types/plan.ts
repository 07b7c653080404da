import type { RestartPicture } from '../restart-budget.ts';
import type { PassedOver } from '../passed-over.ts';
import type { HeldRestart, RestartOutcome } from '../restart-plan.ts';
import type { StoredPool } from '../vm-from-template.ts';
import type { VmView } from '../vm.ts';
import type { WantedResult } from './preflight.ts';
import type { TransitionRules } from './need.ts';
import type { TransitionCounts } from './transition.ts';

/** VMs that are to be changed, or whose marks are to be cleared, in one turn at most. */
export const MOST_TO_CHANGE = 500;

/** A VM in hand, with the UID of the guest (VMI) that is restarted: where it has another by now, that is done. */
export interface HeldGuest extends HeldRestart {
  guest: string;
}

/** A VM that is not to be tried again, by `namespace/name`. */
export interface FailedVm {
  vm: string;
  /** It failed in its restart, and was ready before that: while it is down it takes up room, whatever else does. */
  wasWell: boolean;
}

export interface TransitionPlanInput {
  rules: TransitionRules;
  /** All VMs and all pools of drover's. */
  vms: Iterable<VmView>;
  pools: Iterable<StoredPool>;
  picture: RestartPicture;
  inHand: readonly HeldGuest[];
  failed: readonly FailedVm[];
  /** VMs that may be not ready at once. */
  maxRestarts: number;
  /** Whether anything may be changed and restarted now; what is in hand is followed all the same. */
  takes: boolean;
  /** Whether nothing is to be changed or restarted any more: it is over once nothing is in hand. */
  isEnding: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/** VMs and pools are named by `namespace/name`. */
export interface TransitionPlan {
  /** To be changed, or only marked, as `transitionNeed` says; at most `MOST_TO_CHANGE`. */
  patch: string[];
  /** Whose templates are to be changed, as `poolStand` says. */
  pools: string[];
  /** Groups of VMs that wait until a dry run has shown their resulting type, which then belongs to the `results`. */
  check: WantedResult[];
  /** Of those in hand. */
  settled: RestartOutcome[];
  take: Omit<HeldGuest, 'takenAt'>[];
  /** Whose marks are to be cleared; at most `MOST_TO_CHANGE`. */
  unmark: string[];
  counts: TransitionCounts;
  passedOver: PassedOver[];
  /** Budgets that are full, and what fills them; a window that is closed. */
  full: string[];
  /** Nothing is left to be done, or waited for. */
  isOver: boolean;
  /** When time alone changes something; milliseconds since the epoch. */
  wakeAt: number | null;
}

/**
 * What a transition does next, and what has become of what it has in hand: as little as one turn can do, from what VMs and guests
 * carry alone. It may be asked again at any point.
 */
export declare function planTransition(input: TransitionPlanInput): TransitionPlan;
