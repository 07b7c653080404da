import { namespacedName } from '../disruption-budget/restart-budget.ts';
import type { Need } from '../disruption/need.ts';
import { isActive } from '../health/availability.ts';
import { compareRanks } from '../lib/ranks.ts';
import type { Skipped } from '../runs/skipped.ts';
import { policyRank } from '../scaling/selection-order.ts';
import { isStandby, type VmView } from '../views/vm.ts';
import type { NotRetried } from './not-retried.ts';
import { groupKey, type TransitionRules } from './transition-rules.ts';
import { NO_COUNTS, type TransitionCounts } from './transition.ts';
import type { TransitionNeed } from './vm-need.ts';
import type { WantedResult } from './wanted-results.ts';

/** How a VM counts: like any other, as in flight, or as failed. */
export type Role = 'open' | 'inFlight' | NotRetried;

/** A VM, what it needs, and the pool that owns it, by `namespace/name`. */
export interface Judged {
  vm: VmView;
  need: TransitionNeed;
  /** What a restart needs, if the VM needs one. */
  restart: Need;
  pool: string | null;
  /** It should run and is not ready. */
  isDown: boolean;
}

/** Which count a VM is part of, by what it needs. */
const COUNTED_AS = {
  nothing: null,
  failed: null,
  patch: 'toPatch',
  label: 'toPatch',
  check: 'toPatch',
  restart: 'toRestart',
  wait: 'waiting',
  pool: 'inPools',
  deferred: 'deferred',
  excluded: 'excluded',
  done: 'done',
} as const satisfies Record<TransitionNeed['need'], keyof TransitionCounts | null>;

/**
 * A VM that needs one of these keeps this transition's mark. The mark left behind by another transition stays if the
 * VM's patch will replace it.
 */
const KEEPS_LABEL = new Set<TransitionNeed['need']>(['restart', 'wait', 'deferred']);
const REPLACES_LABEL = new Set<TransitionNeed['need']>(['patch', 'label', 'check', 'deferred']);

/** VMs that have something in common. */
type Grouped<T> = Map<string, { of: T; vms: Set<string> }>;

/** Sums of what VMs need, kept by difference. VMs are named by `namespace/name`. */
export class Tally {
  readonly #rules: TransitionRules;
  readonly #skipped: Grouped<Pick<Skipped, 'message' | 'isExcluded'>> = new Map();
  readonly #groups: Grouped<Pick<WantedResult, 'group'>> = new Map();
  readonly counts: TransitionCounts = { ...NO_COUNTS };
  readonly patch = new Set<string>();
  readonly unlabel = new Set<string>();
  /** UIDs of the VMIs that may be restarted now if there is room, by their VMs. */
  readonly restarts = new Map<string, string>();
  /** Ranks of their VMs in the order that is asked for; empty if none is. */
  readonly #ranks = new Map<string, readonly number[]>();
  /** Those of them that are down already. */
  readonly #downAlready = new Set<string>();
  /** The VMs in their order, or else in that of the UIDs; it may include deleted VMs, and lack new ones. */
  #inOrder = new Map<string, string>();
  #hasNew = false;
  /** Why pools could not update these VMs. */
  readonly failures = new Map<string, string>();
  /** VMs that count against the limit of restarts: VMs in flight, and VMs that are not ready. */
  readonly limited = new Set<string>();

  constructor(rules: TransitionRules) {
    this.#rules = rules;
  }

  get groups(): WantedResult[] {
    return [...this.#groups.values()].map(({ of, vms }) => ({ ...of, vms: vms.size, sample: first(vms, 1)[0]! }));
  }

  /** Names at most `names` VMs for each reason. */
  skipped(names: number): Skipped[] {
    return [...this.#skipped.values()].map(({ of, vms }) => ({ ...of, count: vms.size, vms: first(vms, names) }));
  }

  /**
   * The VMs that may be restarted: VMs that are already down first, which costs nothing more; the others in the
   * requested order, or scattered, so that no application goes down as a whole. Ends early once the limit is reached.
   */
  *candidates(isFull: () => boolean): Iterable<string> {
    yield* this.#downAlready;
    if (this.#hasNew) this.#inOrder = new Map([...this.restarts].sort((a, b) => this.#compare(a, b)));
    this.#hasNew = false;
    for (const [key, vmi] of this.#inOrder) {
      if (this.restarts.get(key) !== vmi || this.#downAlready.has(key)) continue;
      const wasFull = isFull();
      yield key;
      if (wasFull) return;
    }
  }

  #compare([one, vmi]: [string, string], [other, otherVmi]: [string, string]): number {
    const byRank = compareRanks(this.#ranks.get(one) ?? [], this.#ranks.get(other) ?? []);
    return byRank || (vmi < otherVmi ? -1 : 1);
  }

  add(judged: Judged, role: Role): void {
    this.#change(judged, role, true);
  }

  /** Takes back what `add` has done with the same arguments. */
  remove(judged: Judged, role: Role): void {
    this.#change(judged, role, false);
  }

  #change(judged: Judged, role: Role, isThere: boolean): void {
    const { vm, need } = judged;
    const key = namespacedName(vm);
    if (this.#isLimited(judged, role)) put(this.limited, key, isThere);
    if (role === 'inFlight') return;
    if (role !== 'open') {
      if (need.need === 'done' && role.keepsLabel === undefined) this.#clear(vm, need, isThere);
      return;
    }
    this.#clear(vm, need, isThere);
    this.#count(key, judged, isThere);
  }

  #count(key: string, { vm, need, restart, isDown }: Judged, isThere: boolean): void {
    const counted = COUNTED_AS[need.need];
    if (counted !== null) this.counts[counted] += isThere ? 1 : -1;
    switch (need.need) {
      case 'patch':
      case 'label':
        return put(this.patch, key, isThere);
      case 'check':
        return putIn(this.#groups, { name: groupKey(need.group), of: { group: need.group } }, key, isThere);
      case 'restart':
        return this.#restart(key, { vm, vmi: need.vmi.uid, restart, isDown }, isThere);
      case 'failed':
        return set(this.failures, key, isThere ? need.message : null);
      case 'excluded':
      case 'deferred':
      case 'pool':
      case 'wait':
        return need.message === null ? undefined : this.#skip(key, need.message, need.need === 'excluded', isThere);
      case 'nothing':
      case 'done':
        return undefined;
    }
  }

  #restart(
    key: string,
    { vm, vmi, restart, isDown }: Pick<Judged, 'vm' | 'restart' | 'isDown'> & { vmi: string },
    isThere: boolean,
  ): void {
    if (restart.need === 'excluded' || restart.need === 'deferred')
      return this.#skip(key, restart.message, restart.need === 'excluded', isThere);
    if (restart.need === 'nothing') return;
    if (isThere && this.#inOrder.get(key) !== vmi) this.#hasNew = true;
    if (isDown) put(this.#downAlready, key, isThere);
    const { order } = this.#rules.transition;
    if (order !== undefined) set(this.#ranks, key, isThere ? policyRank(vm, order) : null);
    set(this.restarts, key, isThere ? vmi : null);
  }

  #skip(key: string, message: string, isExcluded: boolean, isThere: boolean): void {
    putIn(this.#skipped, { name: `${isExcluded} ${message}`, of: { message, isExcluded } }, key, isThere);
  }

  /**
   * Whether the VM counts against the limit of restarts, if it is in flight or not ready: VMs that are, were or will be
   * restarted do, whatever the cause. Paused VMs and VMs in their pool's rollout don't, because others are responsible
   * for them. Neither do failed VMs that were not ready before: they would block the rest forever.
   */
  #isLimited({ vm, need: { need }, isDown }: Judged, role: Role): boolean {
    if (role === 'inFlight') return true;
    if (!isDown || isStandby(vm) || !isActive(vm)) return false;
    if (role !== 'open') return role.wasAvailable;
    return need === 'restart' || (need === 'done' && vm.transition?.id === this.#rules.ref.id);
  }

  /** Clears marks, including the marks of a terminated transition: nothing else would. */
  #clear(vm: VmView, { need }: TransitionNeed, isThere: boolean): void {
    const { ref, scope, othersRunning } = this.#rules;
    const { transitionLabel: label } = vm;
    if (label === null || !isActive(vm) || !scope.isWithin(vm.namespace)) return;
    const isStale = label !== ref.id && scope.chooses(vm) && othersRunning.get(label) === undefined;
    if (label === ref.id ? !KEEPS_LABEL.has(need) : isStale && !REPLACES_LABEL.has(need))
      put(this.unlabel, namespacedName(vm), isThere);
  }
}

export const put = (names: Set<string>, key: string, isThere: boolean): void =>
  void (isThere ? names.add(key) : names.delete(key));

const set = <T>(values: Map<string, T>, key: string, value: T | null): void =>
  void (value === null ? values.delete(key) : values.set(key, value));

function putIn<T>(groups: Grouped<T>, { name, of }: { name: string; of: T }, key: string, isThere: boolean): void {
  const known = groups.get(name) ?? { of, vms: new Set() };
  put(known.vms, key, isThere);
  if (known.vms.size === 0) groups.delete(name);
  else groups.set(name, known);
}

export const first = (names: ReadonlySet<string>, most: number): string[] => names.values().take(most).toArray();
