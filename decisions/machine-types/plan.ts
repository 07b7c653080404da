import { CountedVms } from '../disruption-budget/counted-vms.ts';
import { RunBudget } from '../disruption-budget/restart-budget.ts';
import { whyClosed, windowAt } from '../lib/maintenance-windows.ts';
import type { PowerOutcome, Verification } from '../power/outcome.ts';
import { admitVms, inOrder, type AdmittedVm } from '../power/plan.ts';
import { inShort, type Skipped } from '../runs/skipped.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { TransitionLook, type Fleet } from './look.ts';
import type { Touched } from './not-retried.ts';
import { isOldVmi, isSetBack, type TransitionRules } from './transition-rules.ts';
import type { TransitionCounts } from './transition.ts';
import type { WantedResult } from './wanted-results.ts';

/** The most VMs per turn that are changed, and the most whose marks are cleared. */
export const MAX_TO_CHANGE = 500;

export interface TransitionTurn extends Touched {
  /** How many VMs may be not ready at once. */
  maxRestarts: number;
  /** Whether anything may be changed or restarted now. */
  mayStart: boolean;
  /** Whether nothing more is to be changed or restarted: the transition is over once nothing is in flight. */
  isEnding: boolean;
  /** Whether this VM may be restarted at this moment, if it needs that and there is room. */
  isEligible: (vm: VmView) => boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/** VMs are named by `namespace/name`. */
export interface TransitionPlan {
  /** VMs to be changed, or only marked, as `transitionNeed` says; at most `MAX_TO_CHANGE`. */
  patch: string[];
  /** Groups of VMs that wait for a dry run to show their resulting type, which is then added to the `results`. */
  check: WantedResult[];
  /** VMs that their pools could not update; at most `MAX_TO_CHANGE`. */
  failures: PowerOutcome[];
  /** VMs to restart now. */
  admitted: AdmittedVm[];
  /** VMs whose marks are to be cleared; at most `MAX_TO_CHANGE`. */
  unlabel: string[];
  counts: TransitionCounts;
  skipped: Skipped[];
  /** Full budgets, and what fills them; a closed window. */
  full: string[];
  /** How many VMs and marks something is still to be done to, or waited for, beside the VMs in flight. */
  open: number;
  /** When the window opens that is waited for, in milliseconds since the epoch; null if none is. */
  opensAt: number | null;
  /** VMs that count against the limit of restarts. */
  limited: ReadonlySet<string>;
  /** VMs of which any change matters. */
  concerned: ReadonlySet<string>;
}

/**
 * Plans what is next in a transition: only as much as one turn can do, and only from what is stored on VMs and VMIs. It
 * may be called again at any point.
 */
export function planTransition(rules: TransitionRules, fleet: Fleet, turn: TransitionTurn): TransitionPlan {
  const { mayStart, isEnding, now } = turn;
  const look = new TransitionLook(rules, fleet, turn);
  const { counts, unlabel, limited, concerned } = look;
  const acts = mayStart && !isEnding;
  const window = windowAt(rules.transition.windows, now);
  const { admitted, full } =
    acts && window.open && rules.transition.restartNow
      ? restartsOf(look, rules, fleet, turn)
      : { admitted: [], full: [] };
  const { toPatch, toRestart, waiting, inPools, deferred } = counts;
  const isWindowClosed = !window.open && toRestart > 0;
  return {
    patch: acts ? look.patch.slice(0, MAX_TO_CHANGE) : [],
    check: acts ? look.groups : [],
    failures: look.failures.slice(0, MAX_TO_CHANGE),
    admitted,
    unlabel: unlabel.slice(0, MAX_TO_CHANGE),
    counts,
    skipped: inShort(look.skipped.all),
    full: isWindowClosed ? [whyClosed(window, rules.transition.windows, 'spec.windows'), ...full] : full,
    open: isEnding ? 0 : toPatch + toRestart + waiting + inPools + deferred + unlabel.length,
    opensAt: isWindowClosed ? window.next : null,
    limited,
    concerned,
  };
}

function restartsOf(
  { limited, restarts }: TransitionLook,
  { transition: { order } }: TransitionRules,
  fleet: Fleet,
  { inProgress, maxRestarts: most, isEligible, now }: TransitionTurn,
): Pick<TransitionPlan, 'admitted' | 'full'> {
  const counted = new CountedVms(limited, fleet);
  const budget = new RunBudget({ keepsAvailable: true, counted, snapshot: fleet, inProgress, most, now });
  const free = [...restarts.keys()].map((key) => fleet.vmOf(key)!).filter(isEligible);
  const ordered = inOrder(free, budget, { chosen: restarts, order });
  return admitVms({ action: 'Restart', snapshot: fleet }, ordered, budget);
}

/** Judges a VMI that is ready after its restart. */
export function verificationOf(rules: TransitionRules, vm: VmView, vmi: VmiView): Verification {
  // A user has set an old type on the VM again meanwhile: that is what they want.
  if (isSetBack(rules, vm)) return { is: 'well' };
  if (vmi.machineType === null) return { is: 'unknown', why: 'its machine type is not known yet' };
  return isOldVmi(rules, vm, vmi) ? { is: 'wrong', message: `it came back with ${vmi.machineType}` } : { is: 'well' };
}
