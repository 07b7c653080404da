import { isActive } from '../disruption-budget/availability.ts';
import { namespacedName, type OwningPool, type VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import { windowAt } from '../lib/maintenance-windows.ts';
import type { PowerOutcome, Verification } from '../power/outcome.ts';
import { planPower, type PowerPlan } from '../power/plan.ts';
import { SkippedVms, type Skipped } from '../runs/skipped.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isOldVmi, isSetBack, type TransitionRules } from './criteria.ts';
import { failureAmong, formatPool, roomTaker, type FailedVm, type VmiInProgress } from './limit.ts';
import { poolTransitionState } from './pool-state.ts';
import { Groups, type WantedResult } from './preflight.ts';
import { NO_COUNTS, type TransitionCounts } from './transition.ts';
import { transitionNeed, type TransitionNeed } from './vm-need.ts';

/** The most VMs per turn that are changed, and the most whose marks are cleared. */
export const MAX_TO_CHANGE = 500;

export interface TransitionPlanInput {
  rules: TransitionRules;
  /** All VMs, and all of drover's pools. */
  vms: Iterable<VmView>;
  pools: Iterable<OwningPool>;
  snapshot: VmsSnapshot;
  inProgress: readonly VmiInProgress[];
  failed: readonly FailedVm[];
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
  take: Omit<VmiInProgress, 'takenAt'>[];
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
export function planTransition(input: TransitionPlanInput): TransitionPlan {
  return new Turn(input).plan();
}

/** Which count a VM is part of, by what it needs. */
const COUNTED_AS = {
  nothing: null,
  failed: null,
  patch: 'toPatch',
  mark: 'toPatch',
  check: 'toPatch',
  restart: 'toRestart',
  wait: 'waiting',
  pool: 'inPools',
  deferred: 'deferred',
  left: 'excluded',
  done: 'done',
} as const satisfies Record<TransitionNeed['need'], keyof TransitionCounts | null>;

/**
 * A VM that needs one of these keeps this transition's mark. The mark left behind by another transition stays if the
 * VM's patch will replace it.
 */
const KEEPS_MARK = new Set<TransitionNeed['need']>(['restart', 'wait', 'deferred']);
const REPLACES_MARK = new Set<TransitionNeed['need']>(['patch', 'mark', 'check', 'deferred']);

class Turn {
  readonly #in: TransitionPlanInput;
  readonly #held: Map<string, VmiInProgress>;
  /** VMs by `namespace/name`; pools as `formatPool` names them. */
  readonly #failedPools: Set<string>;
  readonly #failureOf: (vm: VmView) => FailedVm | undefined;
  readonly #counts = { ...NO_COUNTS };
  readonly #patch: string[] = [];
  readonly #unmark: string[] = [];
  readonly #failures: PowerOutcome[] = [];
  readonly #groups = new Groups();
  readonly #apart = new SkippedVms();
  /** UIDs of VMIs that are or will be restarted, by their VMs; and the VMs that count against the limit. */
  readonly #vmis = new Map<string, string>();
  readonly #counted: string[] = [];
  readonly #takesUpRoom: (vm: VmView, need: TransitionNeed) => boolean;

  constructor(input: TransitionPlanInput) {
    this.#in = input;
    this.#held = new Map(input.inProgress.map((one) => [one.vm, one]));
    this.#failedPools = new Set(input.failed.map(({ vm }) => vm));
    this.#failureOf = failureAmong(input.failed);
    this.#takesUpRoom = roomTaker(input.rules, input);
  }

  plan(): TransitionPlan {
    const { rules, inProgress, takes, isEnding, now } = this.#in;
    const needs = this.#look();
    const acts = takes && !isEnding;
    const window = windowAt(rules.transition.windows, now);
    const restarts = this.#restarts(acts && window.open);
    const settled = new Map(restarts.settled.map((one) => [one.vm, one]));
    for (const [vm, need] of needs) {
      const end = settled.get(namespacedName(vm))?.end;
      if (end === undefined) this.#counts.restarting++;
      else if (end !== 'Failed') this.#count(vm, need);
    }
    const pools = this.#pools();
    const { toPatch, toRestart, waiting, inPools, deferred } = this.#counts;
    const isHeldUp = !window.open && toRestart + pools.length > 0;
    const isOpen = toPatch + toRestart + waiting + inPools + deferred + pools.length + this.#unmark.length > 0;
    const times = [restarts.wakeAt, isHeldUp ? window.next : null].filter((time) => time !== null);
    return {
      patch: acts ? this.#patch : [],
      pools: acts && window.open ? pools : [],
      check: acts ? this.#groups.all : [],
      settled: [...restarts.settled, ...this.#failures],
      take: restarts.take.map((one) => ({ ...one, vmi: this.#vmis.get(one.vm)! })),
      unmark: this.#unmark.slice(0, MAX_TO_CHANGE),
      counts: this.#counts,
      skipped: [...this.#apart.all, ...restarts.skipped],
      full: isHeldUp && !window.open ? [formatWindow(window.next), ...restarts.full] : restarts.full,
      isOver: inProgress.every(({ vm }) => settled.has(vm)) && (isEnding || !isOpen),
      wakeAt: times.length === 0 ? null : Math.min(...times),
    };
  }

  /** Returns what the VMs in flight need next, and counts all other VMs. */
  #look(): Map<VmView, TransitionNeed> {
    const { rules, vms, snapshot } = this.#in;
    const needs = new Map<VmView, TransitionNeed>();
    for (const vm of vms) {
      if (!rules.scope.isWithin(vm.namespace)) continue;
      const need = this.#unlessPoolFailed(transitionNeed(rules, vm, snapshot));
      const key = namespacedName(vm);
      const [held, failure] = [this.#held.get(key), this.#failureOf(vm)];
      if (this.#takesUpRoom(vm, need)) this.#counted.push(key);
      if (held !== undefined) {
        this.#vmis.set(key, held.vmi);
        needs.set(vm, need);
      } else if (failure !== undefined) {
        if (need.need === 'done' && failure.keepsMark === undefined) this.#clear(vm, key, need);
      } else this.#count(vm, need);
    }
    // Deleted VMs in flight must be settled too.
    for (const [key, { vmi }] of this.#held) this.#vmis.set(key, vmi);
    return needs;
  }

  /** If its pool's template could not be changed, nothing else will update the VM. */
  #unlessPoolFailed(need: TransitionNeed): TransitionNeed {
    if (need.need !== 'pool' || !this.#failedPools.has(formatPool(need.pool))) return need;
    return { need: 'left', why: `its pool ${namespacedName(need.pool.metadata)} could not be changed` };
  }

  #count(vm: VmView, need: TransitionNeed): void {
    const key = namespacedName(vm);
    const counted = COUNTED_AS[need.need];
    if (counted !== null) this.#counts[counted]++;
    this.#clear(vm, key, need);
    switch (need.need) {
      case 'patch':
      case 'mark':
        if (this.#patch.length < MAX_TO_CHANGE) this.#patch.push(key);
        break;
      case 'check':
        this.#groups.add(vm, need.group);
        break;
      case 'restart':
        if (!this.#held.has(key)) this.#vmis.set(key, need.vmi.uid);
        break;
      case 'failed':
        this.#failures.push({ vm: key, end: 'Failed', why: need.why });
        break;
      case 'left':
      case 'deferred':
        this.#apart.add(key, need.why, need.need === 'left');
        break;
      case 'pool':
      case 'wait':
        if (need.why !== null) this.#apart.add(key, need.why, false);
        break;
      case 'nothing':
      case 'done':
    }
  }

  /** Clears marks, also those that a terminated transition could not clear itself: nothing else would. */
  #clear(vm: VmView, key: string, { need }: TransitionNeed): void {
    const { ref, scope, othersRunning } = this.#in.rules;
    const { transitionMark: mark } = vm;
    if (mark === null || !isActive(vm)) return;
    const isLeftBehind = mark !== ref.id && scope.chooses(vm) && !othersRunning.has(mark);
    if (mark === ref.id ? !KEEPS_MARK.has(need) : isLeftBehind && !REPLACES_MARK.has(need)) this.#unmark.push(key);
  }

  #restarts(takes: boolean): Omit<PowerPlan, 'open'> {
    const { rules, snapshot, inProgress, maxRestarts, now } = this.#in;
    if (this.#vmis.size === 0) return { settled: [], take: [], skipped: [], full: [], wakeAt: null };
    return planPower({
      action: 'Restart',
      chosen: this.#vmis,
      counted: this.#counted,
      snapshot,
      inProgress,
      // `chosen` contains no failed VMs.
      excluded: new Set(),
      atOnce: maxRestarts,
      deadlineMs: rules.transition.deadlineMs,
      takes: takes && rules.transition.restartNow,
      verify: (vm, vmi) => verificationOf(rules, vm, vmi),
      now,
    });
  }

  /** Pools whose templates are to be changed. */
  #pools(): string[] {
    const { rules, pools, snapshot } = this.#in;
    const names: string[] = [];
    for (const owner of pools) {
      const key = namespacedName(owner.pool.metadata);
      if (
        !this.#failedPools.has(formatPool(owner.pool)) &&
        poolTransitionState(rules, owner, snapshot).state === 'change'
      )
        names.push(key);
    }
    return names;
  }
}

/** Judges a VMI that is ready after its restart. */
function verificationOf(rules: TransitionRules, vm: VmView, vmi: VmiView): Verification {
  // Somebody has set an old type on the VM again meanwhile: that is what they want.
  if (isSetBack(rules, vm)) return { is: 'well' };
  if (vmi.machineType === null) return { is: 'unknown', waitsFor: 'its machine type to be known' };
  return isOldVmi(rules, vm, vmi) ? { is: 'wrong', why: `it came back with ${vmi.machineType}` } : { is: 'well' };
}

const formatWindow = (next: number | null): string =>
  next === null ? 'no window opens any more' : `the next window opens at ${new Date(next).toISOString()}`;
