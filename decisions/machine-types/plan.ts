import { isStaying } from '../disruption-budget/availability.ts';
import { keyOf, type OwningPool, type RestartPicture } from '../disruption-budget/restart-budget.ts';
import { windowAt } from '../lib/maintenance-windows.ts';
import { planRestarts, type RestartOutcome, type RestartPlan, type Verdict } from '../restarts/plan.ts';
import { PassedOverVms, type PassedOver } from '../runs/skipped.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isOldGuest, isSetBack, type TransitionRules } from './criteria.ts';
import { failureAmong, poolInWords, roomTaker, type FailedVm, type HeldGuest } from './limit.ts';
import { poolTransitionState } from './pool-state.ts';
import { Groups, type WantedResult } from './preflight.ts';
import type { TransitionCounts } from './transition.ts';
import { transitionNeed, type TransitionNeed } from './vm-need.ts';

/** The most VMs per turn that are changed, and the most whose marks are cleared. */
export const MOST_TO_CHANGE = 500;

export interface TransitionPlanInput {
  rules: TransitionRules;
  /** All VMs, and all of drover's pools. */
  vms: Iterable<VmView>;
  pools: Iterable<OwningPool>;
  picture: RestartPicture;
  inHand: readonly HeldGuest[];
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
  /** VMs to be changed, or only marked, as `transitionNeed` says; at most `MOST_TO_CHANGE`. */
  patch: string[];
  /** Pools whose templates are to be changed, as `poolTransitionState` says. */
  pools: string[];
  /** Groups of VMs that wait for a dry run to show their resulting type, which is then added to the `results`. */
  check: WantedResult[];
  /** Outcomes of VMs in flight, and, as Failed, VMs that their pools could not update. */
  settled: RestartOutcome[];
  take: Omit<HeldGuest, 'takenAt'>[];
  /** VMs whose marks are to be cleared; at most `MOST_TO_CHANGE`. */
  unmark: string[];
  counts: TransitionCounts;
  passedOver: PassedOver[];
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

const NONE: TransitionCounts = {
  toPatch: 0,
  toRestart: 0,
  waiting: 0,
  inPools: 0,
  parked: 0,
  restarting: 0,
  left: 0,
  done: 0,
};

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
  parked: 'parked',
  left: 'left',
  done: 'done',
} as const satisfies Record<TransitionNeed['need'], keyof TransitionCounts | null>;

/**
 * A VM that needs one of these keeps this transition's mark. The mark left behind by another transition stays if the
 * VM's patch will replace it.
 */
const KEEPS_MARK = new Set<TransitionNeed['need']>(['restart', 'wait', 'parked']);
const REPLACES_MARK = new Set<TransitionNeed['need']>(['patch', 'mark', 'check', 'parked']);

class Turn {
  readonly #in: TransitionPlanInput;
  readonly #held: Map<string, HeldGuest>;
  /** VMs and pools; pools as `poolInWords` names them. */
  readonly #failedPools: Set<string>;
  readonly #failureOf: (vm: VmView) => FailedVm | undefined;
  readonly #counts = { ...NONE };
  readonly #patch: string[] = [];
  readonly #unmark: string[] = [];
  readonly #failures: RestartOutcome[] = [];
  readonly #groups = new Groups();
  readonly #apart = new PassedOverVms();
  /** UIDs of VMIs that are or will be restarted, by their VMs; and the VMs that count against the limit. */
  readonly #guests = new Map<string, string>();
  readonly #counted: string[] = [];
  readonly #takesUpRoom: (vm: VmView, need: TransitionNeed) => boolean;

  constructor(input: TransitionPlanInput) {
    this.#in = input;
    this.#held = new Map(input.inHand.map((one) => [one.vm, one]));
    this.#failedPools = new Set(input.failed.map(({ vm }) => vm));
    this.#failureOf = failureAmong(input.failed);
    this.#takesUpRoom = roomTaker(input.rules, input);
  }

  plan(): TransitionPlan {
    const { rules, inHand, takes, isEnding, now } = this.#in;
    const needs = this.#look();
    const acts = takes && !isEnding;
    const window = windowAt(rules.transition.windows, now);
    const restarts = this.#restarts(acts && window.open);
    const settled = new Map(restarts.settled.map((one) => [one.vm, one]));
    for (const [vm, need] of needs) {
      const end = settled.get(keyOf(vm))?.end;
      if (end === undefined) this.#counts.restarting++;
      else if (end !== 'Failed') this.#count(vm, need);
    }
    const pools = this.#pools();
    const { toPatch, toRestart, waiting, inPools, parked } = this.#counts;
    const isHeldUp = !window.open && toRestart + pools.length > 0;
    const isOpen = toPatch + toRestart + waiting + inPools + parked + pools.length + this.#unmark.length > 0;
    const times = [restarts.wakeAt, isHeldUp ? window.next : null].filter((time) => time !== null);
    return {
      patch: acts ? this.#patch : [],
      pools: acts && window.open ? pools : [],
      check: acts ? this.#groups.all : [],
      settled: [...restarts.settled, ...this.#failures],
      take: restarts.take.map((one) => ({ ...one, guest: this.#guests.get(one.vm)! })),
      unmark: this.#unmark.slice(0, MOST_TO_CHANGE),
      counts: this.#counts,
      passedOver: [...this.#apart.all, ...restarts.passedOver],
      full: isHeldUp && !window.open ? [windowInWords(window.next), ...restarts.full] : restarts.full,
      isOver: inHand.every(({ vm }) => settled.has(vm)) && (isEnding || !isOpen),
      wakeAt: times.length === 0 ? null : Math.min(...times),
    };
  }

  /** Returns what the VMs in flight need next, and counts all other VMs. */
  #look(): Map<VmView, TransitionNeed> {
    const { rules, vms, picture } = this.#in;
    const needs = new Map<VmView, TransitionNeed>();
    for (const vm of vms) {
      const need = this.#unlessPoolFailed(transitionNeed(rules, vm, picture));
      const key = keyOf(vm);
      const [held, failure] = [this.#held.get(key), this.#failureOf(vm)];
      if (this.#takesUpRoom(vm, need)) this.#counted.push(key);
      if (held !== undefined) {
        this.#guests.set(key, held.guest);
        needs.set(vm, need);
      } else if (failure !== undefined) {
        if (need.need === 'done' && failure.keepsMark === undefined) this.#clear(vm, key, need);
      } else this.#count(vm, need);
    }
    // Deleted VMs in flight must be settled too.
    for (const [key, { guest }] of this.#held) this.#guests.set(key, guest);
    return needs;
  }

  /** If its pool's template could not be changed, nothing else will update the VM. */
  #unlessPoolFailed(need: TransitionNeed): TransitionNeed {
    if (need.need !== 'pool' || !this.#failedPools.has(poolInWords(need.pool))) return need;
    return { need: 'left', why: `its pool ${keyOf(need.pool.metadata)} could not be changed` };
  }

  #count(vm: VmView, need: TransitionNeed): void {
    const key = keyOf(vm);
    const counted = COUNTED_AS[need.need];
    if (counted !== null) this.#counts[counted]++;
    this.#clear(vm, key, need);
    switch (need.need) {
      case 'patch':
      case 'mark':
        if (this.#patch.length < MOST_TO_CHANGE) this.#patch.push(key);
        break;
      case 'check':
        this.#groups.add(vm, need.group);
        break;
      case 'restart':
        if (!this.#held.has(key)) this.#guests.set(key, need.guest.uid);
        break;
      case 'failed':
        this.#failures.push({ vm: key, end: 'Failed', why: need.why });
        break;
      case 'left':
      case 'parked':
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
    if (mark === null || !isStaying(vm)) return;
    const isLeftBehind = mark !== ref.id && scope.chooses(vm) && !othersRunning.has(mark);
    if (mark === ref.id ? !KEEPS_MARK.has(need) : isLeftBehind && !REPLACES_MARK.has(need)) this.#unmark.push(key);
  }

  #restarts(takes: boolean): Omit<RestartPlan, 'open'> {
    const { rules, picture, inHand, maxRestarts, now } = this.#in;
    if (this.#guests.size === 0) return { settled: [], take: [], passedOver: [], full: [], wakeAt: null };
    return planRestarts({
      chosen: this.#guests,
      counted: this.#counted,
      picture,
      inHand,
      // `chosen` contains no failed VMs.
      failed: new Set(),
      maxUnavailable: maxRestarts,
      deadlineMs: rules.transition.deadlineMs,
      takes: takes && rules.transition.restartNow,
      verify: (vm, guest) => verdictOn(rules, vm, guest),
      now,
    });
  }

  /** Pools whose templates are to be changed. */
  #pools(): string[] {
    const { rules, pools, picture } = this.#in;
    const names: string[] = [];
    for (const owner of pools) {
      const key = keyOf(owner.pool.metadata);
      if (
        !this.#failedPools.has(poolInWords(owner.pool)) &&
        poolTransitionState(rules, owner, picture).stand === 'change'
      )
        names.push(key);
    }
    return names;
  }
}

/** The verdict on a guest that is ready after its restart. */
function verdictOn(rules: TransitionRules, vm: VmView, guest: VmiView): Verdict {
  // Somebody has set an old type on the VM again meanwhile: that is what they want.
  if (isSetBack(rules, vm)) return { is: 'well' };
  if (guest.machineType === null) return { is: 'unknown', waitsFor: 'its machine type to be known' };
  return isOldGuest(rules, vm, guest) ? { is: 'wrong', why: `it came back with ${guest.machineType}` } : { is: 'well' };
}

const windowInWords = (next: number | null): string =>
  next === null ? 'no window opens any more' : `the next window opens at ${new Date(next).toISOString()}`;
