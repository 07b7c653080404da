import { RestartBudget } from '../disruption-budget/restart-budget.ts';
import { whyClosed, windowAt } from '../lib/maintenance-windows.ts';
import type { PowerOutcome, Verification } from '../power/outcome.ts';
import { settle, takeVms } from '../power/plan.ts';
import { MAX_NAMES, type Skipped } from '../runs/skipped.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isOldVmi, isSetBack, type TransitionRules } from './criteria.ts';
import type { Touched, VmiInProgress } from './limit.ts';
import type { TransitionNeeds } from './needs.ts';
import type { WantedResult } from './preflight.ts';
import { first } from './tally.ts';
import type { TransitionCounts } from './transition.ts';

/** The most VMs per turn that are changed, and the most whose marks are cleared. */
export const MAX_TO_CHANGE = 500;

export interface TransitionTurn extends Touched {
  /** How many VMs may be not ready at once. */
  maxRestarts: number;
  /** Whether anything may be changed or restarted now; VMs in flight are followed either way. */
  takes: boolean;
  /** Whether nothing more is to be changed or restarted: the transition is over once nothing is in flight. */
  isEnding: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/** VMs and pools are named by `namespace/name`. */
export interface TransitionPlan {
  /** VMs to be changed, or only marked, as `transitionNeed` says; at most `MAX_TO_CHANGE`. */
  patch: string[];
  /** Pools whose templates are to be changed, as `poolTransitionState` says. */
  pools: string[];
  /** Groups of VMs that wait for a dry run to show their resulting type, which is then added to the `results`. */
  check: WantedResult[];
  /** Outcomes of VMs in flight, and, as Failed, VMs that their pools could not update. */
  settled: PowerOutcome[];
  take: Omit<VmiInProgress, 'since'>[];
  /** VMs whose marks are to be cleared; at most `MAX_TO_CHANGE`. */
  unmark: string[];
  counts: TransitionCounts;
  skipped: Skipped[];
  /** Full budgets, and what fills them; a closed window. */
  full: string[];
  /** Nothing is left to do or to wait for. */
  isOver: boolean;
  /** When time alone changes something; milliseconds since the epoch. */
  wakeAt: number | null;
}

/**
 * Plans the next turn of a transition, and settles the VMs in flight: only as much as one turn can do, and only from
 * what is stored on VMs and VMIs. It may be called again at any point.
 */
export function planTransition(needs: TransitionNeeds, turn: TransitionTurn): TransitionPlan {
  const { inProgress, failed, takes, isEnding, now } = turn;
  const { rules, tally, fleet } = needs;
  needs.follow(turn);
  const acts = takes && !isEnding;
  const window = windowAt(rules.transition.windows, now);
  const restarts = restartsOf(needs, turn, acts && window.open);
  const ended = new Set(restarts.settled.map(({ vm }) => vm));
  const held = inProgress.filter(({ vm }) => !ended.has(vm));
  // Those that are back count like any others; those that have failed don't.
  const failedNow = restarts.settled.flatMap(({ vm, end }) => (end === 'Failed' ? [{ vm, wasAvailable: true }] : []));
  needs.follow({ inProgress: held, failed: [...failed, ...failedNow] });
  const { pools } = needs;
  const counts = { ...tally.counts, restarting: held.filter(({ vm }) => fleet.vmOf(vm) !== undefined).length };
  const { toPatch, toRestart, waiting, inPools, deferred } = counts;
  const isHeldUp = !window.open && toRestart + pools.length > 0;
  const isOpen = toPatch + toRestart + waiting + inPools + deferred + pools.length + tally.unmark.size > 0;
  const times = [restarts.wakeAt, isHeldUp ? window.next : null].filter((time) => time !== null);
  const failures = [...tally.failures].map(([vm, why]): PowerOutcome => ({ vm, end: 'Failed', why }));
  return {
    patch: acts ? first(tally.patch, MAX_TO_CHANGE) : [],
    pools: acts && window.open ? pools : [],
    check: acts ? tally.groups : [],
    settled: [...restarts.settled, ...failures],
    take: restarts.take,
    unmark: first(tally.unmark, MAX_TO_CHANGE),
    counts,
    skipped: tally.skipped(MAX_NAMES),
    full: isHeldUp && !window.open ? [whyClosed(window), ...restarts.full] : restarts.full,
    isOver: held.length === 0 && (isEnding || !isOpen),
    wakeAt: times.length === 0 ? null : Math.min(...times),
  };
}

type Restarts = Pick<TransitionPlan, 'settled' | 'take' | 'full' | 'wakeAt'>;

function restartsOf({ rules, fleet, tally }: TransitionNeeds, turn: TransitionTurn, takes: boolean): Restarts {
  const { inProgress, maxRestarts, now } = turn;
  const { settled, held, wakeAt } = settle(inProgress, {
    action: 'Restart',
    snapshot: fleet,
    deadlineMs: rules.transition.deadlineMs,
    verify: (vm, vmi) => verificationOf(rules, vm, vmi),
    now,
  });
  if (!takes || !rules.transition.restartNow) return { settled, take: [], full: [], wakeAt };
  const room = new RestartBudget({
    counted: tally.limited,
    snapshot: fleet,
    inProgress: held.map(({ vm }) => vm),
    maxUnavailable: maxRestarts,
    now,
  });
  const candidates = function* (): Iterable<VmView> {
    for (const key of tally.candidates(() => room.isFull)) yield fleet.vmOf(key)!;
  };
  const { take, full } = takeVms({ action: 'Restart', snapshot: fleet }, candidates(), room);
  return { settled, take: take.map((one) => ({ ...one, vmi: tally.restarts.get(one.vm)! })), full, wakeAt };
}

/** Judges a VMI that is ready after its restart. */
function verificationOf(rules: TransitionRules, vm: VmView, vmi: VmiView): Verification {
  // Somebody has set an old type on the VM again meanwhile: that is what they want.
  if (isSetBack(rules, vm)) return { is: 'well' };
  if (vmi.machineType === null) return { is: 'unknown', waitsFor: 'its machine type to be known' };
  return isOldVmi(rules, vm, vmi) ? { is: 'wrong', why: `it came back with ${vmi.machineType}` } : { is: 'well' };
}
