import { namespacedName, type VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import { isActive, isDown } from '../health/availability.ts';
import { powerNeed } from '../power/need.ts';
import type { PowerOutcome } from '../power/outcome.ts';
import { SkippedVms } from '../runs/skipped.ts';
import { isStandby, type VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { NotRetried, Touched } from './not-retried.ts';
import { forOneLook, groupKey, type TransitionRules } from './transition-rules.ts';
import { NO_COUNTS, type TransitionCounts, type TypeGroup } from './transition.ts';
import { transitionNeed, type TransitionNeed } from './vm-need.ts';
import type { WantedResult } from './wanted-results.ts';

/** All VMs, as they are now. */
export interface Fleet extends VmsSnapshot {
  vms: () => Iterable<VmView>;
}

/** Ids of the other transitions that have left something on VMs of the scope. */
export function otherTransitions({ ref, scope }: TransitionRules, fleet: Fleet): Set<string> {
  const ids = new Set<string>();
  for (const vm of fleet.vms()) {
    const { transition, transitionLabel } = vm;
    if (transition === null && transitionLabel === null) continue;
    if (scope.chooses(vm)) for (const id of [transition?.id, transitionLabel]) if (id) ids.add(id);
  }
  ids.delete(ref.id);
  return ids;
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

/** What all VMs need from a transition, as they are now; named by `namespace/name`. */
export class TransitionLook {
  readonly #rules: TransitionRules;
  readonly #fleet: Fleet;
  readonly #inProgress: ReadonlySet<string>;
  readonly #failed: ReadonlyMap<string, NotRetried>;
  readonly #groups = new Map<string, WantedResult>();
  readonly counts: TransitionCounts = { ...NO_COUNTS };
  readonly patch: string[] = [];
  readonly unlabel: string[] = [];
  /** UIDs of the VMIs that may be restarted now if there is room, by their VMs. */
  readonly restarts = new Map<string, string>();
  /** VMs that their pools could not update. */
  readonly failures: PowerOutcome[] = [];
  readonly skipped = new SkippedVms();
  /** VMs that count against the limit of restarts: VMs in flight, and VMs that are not ready. */
  readonly limited = new Set<string>();
  /** VMs that need something, or carry a mark: a change of any other may be none of the transition's business. */
  readonly concerned = new Set<string>();

  constructor(rules: TransitionRules, fleet: Fleet, { inProgress, failed }: Touched) {
    this.#rules = forOneLook(rules);
    this.#fleet = fleet;
    this.#inProgress = inProgress;
    this.#failed = new Map(failed.map((one) => [one.vm, one]));
    for (const vm of fleet.vms()) this.#add(vm);
    this.counts.restarting = [...inProgress].filter((vm) => fleet.vmOf(vm) !== undefined).length;
  }

  /** Groups of VMs that wait for a dry run. */
  get groups(): WantedResult[] {
    return [...this.#groups.values()];
  }

  #add(vm: VmView): void {
    const need = transitionNeed(this.#rules, vm, this.#fleet);
    if (need.need === 'nothing' && vm.transitionLabel === null) return;
    const key = namespacedName(vm);
    const vmi = this.#fleet.vmiOf(vm);
    this.concerned.add(key);
    if (this.#isLimited(key, { vm, vmi, need })) this.limited.add(key);
    if (this.#inProgress.has(key)) return;
    const failure = this.#failureOf(key, vm);
    const isToClear = failure === undefined || (need.need === 'done' && failure.keepsLabel === undefined);
    if (isToClear && this.#clearsLabel(vm, need)) this.unlabel.push(key);
    if (failure === undefined) this.#count(key, { vm, vmi, need });
  }

  #failureOf(key: string, { uid }: VmView): NotRetried | undefined {
    const failure = this.#failed.get(key);
    return failure?.uid === undefined || failure.uid === uid ? failure : undefined;
  }

  #count(key: string, { vm, vmi, need }: Judged): void {
    const counted = COUNTED_AS[need.need];
    if (counted !== null) this.counts[counted]++;
    switch (need.need) {
      case 'patch':
      case 'label':
        return void this.patch.push(key);
      case 'check':
        return this.#group(key, need.group);
      case 'restart':
        return this.#restart(key, need.vmi.uid, { vm, vmi });
      case 'failed':
        return void this.failures.push({ vm: key, end: 'Failed', message: need.message });
      case 'excluded':
      case 'deferred':
      case 'pool':
      case 'wait':
        return need.message === null ? undefined : this.skipped.add(key, need.message, need.need === 'excluded');
      case 'nothing':
      case 'done':
        return undefined;
    }
  }

  #group(key: string, group: TypeGroup): void {
    const known = this.#groups.get(groupKey(group)) ?? { group, vms: 0, sample: key };
    this.#groups.set(groupKey(group), { ...known, vms: known.vms + 1 });
  }

  #restart(key: string, target: string, { vm, vmi }: Pick<Judged, 'vm' | 'vmi'>): void {
    const need = powerNeed('Restart', { target, vm, vmi, owner: this.#fleet.poolOf(vm) });
    if (need.need === 'act') this.restarts.set(key, target);
    else if (need.need !== 'nothing') this.skipped.add(key, need.message, need.need === 'excluded');
  }

  /**
   * Whether the VM counts against the limit of restarts, if it is in flight or not ready: VMs that are, were or will be
   * restarted do, whatever the cause. Paused VMs and VMs in their pool's rollout don't, because others are responsible
   * for them. Neither do failed VMs that were not ready before: they would block the rest forever.
   */
  #isLimited(key: string, { vm, vmi, need: { need } }: Judged): boolean {
    if (this.#inProgress.has(key)) return true;
    if (!isDown(vm, vmi) || isStandby(vm) || !isActive(vm)) return false;
    const failure = this.#failureOf(key, vm);
    if (failure !== undefined) return failure.wasAvailable;
    return need === 'restart' || (need === 'done' && vm.transition?.id === this.#rules.ref.id);
  }

  /** Whether the VM's mark is to go. Marks of a terminated transition do, too: nothing else would clear them. */
  #clearsLabel(vm: VmView, { need }: TransitionNeed): boolean {
    const { ref, scope, othersRunning } = this.#rules;
    const { transitionLabel: label } = vm;
    if (label === null || !isActive(vm) || !scope.isWithin(vm.namespace)) return false;
    const isStale = label !== ref.id && scope.chooses(vm) && othersRunning.get(label) === undefined;
    return label === ref.id ? !KEEPS_LABEL.has(need) : isStale && !REPLACES_LABEL.has(need);
  }
}

/** A VM, its VMI, and what it needs. */
interface Judged {
  vm: VmView;
  vmi: VmiView | undefined;
  need: TransitionNeed;
}
