import { expect } from 'vitest';
import { namespacedName, RunBudget } from '../../../decisions/disruption-budget/restart-budget.ts';
import { transitionRules, type TransitionRules } from '../../../decisions/machine-types/criteria.ts';
import type { NotRetried } from '../../../decisions/machine-types/limit.ts';
import { TransitionNeeds } from '../../../decisions/machine-types/needs.ts';
import { newRecord } from '../../../decisions/machine-types/new-record.ts';
import { planTransition, verificationOf, type TransitionPlan } from '../../../decisions/machine-types/plan.ts';
import { poolTransitionState, templateTypeOf } from '../../../decisions/machine-types/pool-state.ts';
import { faultOf } from '../../../decisions/machine-types/preflight.ts';
import type { Transition, TransitionResult } from '../../../decisions/machine-types/transition.ts';
import { transitionNeed } from '../../../decisions/machine-types/vm-need.ts';
import { powerNeed } from '../../../decisions/power/need.ts';
import { outcomeOf, type Verification, type VmInProgress } from '../../../decisions/power/outcome.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import type { ModelCluster } from './model-cluster.ts';

/** Runs a transition on the model, as its workflow and its activities do. */
export class ModelTransition {
  readonly id: string;
  readonly transition: Transition;
  readonly #cluster: ModelCluster;
  readonly #others: () => ReadonlyMap<string, string>;
  inProgress: VmInProgress[] = [];
  failed: NotRetried[] = [];
  results: TransitionResult[] = [];
  broken = 0;
  aborted = false;
  isOver = false;
  /** By VM UID: how often its type was written, how often it was restarted, and the type that it had before. */
  readonly patched = new Map<string, number>();
  readonly restarted = new Map<string, number>();
  /** VMs that were changed while stopped, but whose VMI has the old type after all. */
  readonly markedAgain = new Map<string, number>();
  readonly before = new Map<string, string | null>();
  poolsChanged = 0;

  constructor(
    cluster: ModelCluster,
    id: string,
    transition: Transition,
    others: () => ReadonlyMap<string, string> = () => new Map(),
  ) {
    this.#cluster = cluster;
    this.id = id;
    this.transition = transition;
    this.#others = others;
  }

  get rules(): TransitionRules {
    const { id, transition, results } = this;
    return transitionRules({ ref: { id }, transition, results, othersRunning: this.#others() });
  }

  get isEnding(): boolean {
    return this.aborted || this.broken > this.transition.maxFailures;
  }

  /** `luck` says after each action whether the worker survives. If it dies, another worker retries the activity. */
  turn(luck: () => boolean = () => true): void {
    if (this.isOver) return;
    this.#settle();
    const plan = this.#plan();
    for (const { vm } of plan.failures) this.failed.push({ vm, wasAvailable: false });
    if (plan.open === 0 && this.inProgress.length === 0) return this.#end();
    this.#insistently(plan.unmark, luck, (key) => this.#unmark(key));
    if (this.isEnding) return;
    for (const { group, sample } of plan.check) {
      const to = this.#cluster.filledIn(this.#cluster.vms.get(sample)!, group.wanted);
      this.results.push({ ...group, to, vms: 1, fault: faultOf(this.rules, to, []) });
    }
    this.#insistently(plan.pools, luck, () => this.#changePool());
    this.#insistently(plan.patch, luck, (key) => this.#patch(key));
    const { now } = this.#cluster;
    this.inProgress.push(...plan.take.map((one) => ({ ...one, since: now })));
    const names = plan.take.map(({ vm }) => vm);
    const waiting = new Set(names);
    const givenBack = new Set<string>();
    this.#insistently(names, luck, (key) => {
      if (this.#restart(key, waiting)) givenBack.delete(key);
      else givenBack.add(key);
      waiting.delete(key);
    });
    this.inProgress = this.inProgress.filter(({ vm }) => !givenBack.has(vm));
  }

  #plan(): TransitionPlan {
    const { snapshot, now } = this.#cluster;
    const { rules, failed, isEnding, maxRestarts } = this;
    const needs = new TransitionNeeds(rules, snapshot);
    const inProgress = this.#names;
    return planTransition(needs, { inProgress, failed, maxRestarts, takes: !isEnding, isEnding, mayTake, now });
  }

  get maxRestarts(): number {
    return Number(this.transition.maxRestarts);
  }

  get #names(): Set<string> {
    return new Set(this.inProgress.map(({ vm }) => vm));
  }

  #settle(): void {
    const { snapshot, now } = this.#cluster;
    const { deadlineMs } = this.transition;
    const verify = (vm: VmView, vmi: VmiView): Verification => verificationOf(this.rules, vm, vmi);
    for (const held of this.inProgress) {
      const outcome = outcomeOf(held, { action: 'Restart', snapshot, deadlineMs, verify, now });
      if (outcome === null) continue;
      const { vm, end } = outcome;
      const wasAvailable = held.wasDown !== true;
      this.inProgress = this.inProgress.filter((one) => one.vm !== vm);
      if (end === 'Failed') this.failed.push({ vm, wasAvailable });
      if (end === 'Failed' && wasAvailable) this.broken++;
    }
  }

  #end(): void {
    this.isOver = true;
    // If all went well, only failed VMs still have a mark.
    for (const key of this.isEnding ? this.#cluster.vms.keys() : this.failed.map(({ vm }) => vm)) this.#unmark(key);
  }

  /** Retries an activity from the beginning if its worker dies. */
  #insistently(keys: readonly string[], luck: () => boolean, act: (key: string) => void): void {
    for (let tries = 0; tries < 3; tries++) {
      let isAlive = true;
      for (const key of keys) {
        act(key);
        isAlive = tries === 2 || luck();
        if (!isAlive) break;
      }
      if (isAlive) return;
    }
  }

  #unmark(key: string): void {
    if (this.#cluster.vms.get(key)?.transitionMark === this.id) this.#cluster.change(key, { transitionMark: null });
  }

  #changePool(): void {
    const cluster = this.#cluster;
    const state = poolTransitionState(this.rules, cluster.owner, cluster.snapshot);
    if (state.state !== 'change') return;
    this.poolsChanged++;
    const from = templateTypeOf(cluster.pool) ?? '';
    cluster.setTemplate(state.to, { id: this.id, from, to: state.to ?? '', vmiType: null, at: '2026-01-02T03:04:05Z' });
  }

  #patch(key: string): void {
    const cluster = this.#cluster;
    const vm = cluster.vms.get(key);
    const need = vm && transitionNeed(this.rules, vm, cluster.snapshot);
    if (vm === undefined || (need?.need !== 'patch' && need?.need !== 'mark')) return;
    const to = need.need === 'patch' ? cluster.filledIn(vm, need.to) : (vm.machineType ?? '');
    if (need.need === 'patch' && this.transition.scope.undoes === null) expect(this.rules.scope.isOld(to)).toBe(false);
    const transition = newRecord(vm, cluster.vmis.get(key), { id: this.id, to, at: '2026-01-02T03:04:05Z' });
    const marks = need.need === 'mark' || need.marks;
    cluster.change(key, { machineType: to, transition, transitionMark: marks ? this.id : null });
    if (vm.transition?.id === this.id) {
      expect(need.need).toBe('mark');
      return count(this.markedAgain, vm.uid);
    }
    count(this.patched, vm.uid);
    this.before.set(vm.uid, vm.machineType);
  }

  /** Returns false if the VM is given back. */
  #restart(key: string, waiting: ReadonlySet<string>): boolean {
    const cluster = this.#cluster;
    const { snapshot, vms } = cluster;
    const vm = vms.get(key);
    const held = this.inProgress.find((one) => one.vm === key)!;
    const need = powerNeed('Restart', {
      target: held.vmi!,
      vm,
      vmi: cluster.vmis.get(key),
      owner: vm && snapshot.poolOf(vm),
    });
    if (vm === undefined || need.need === 'nothing' || vm.changingState) return true;
    const needs = new TransitionNeeds(this.rules, snapshot);
    needs.follow({ inProgress: this.#names, failed: this.failed });
    const counted = needs.tally.limited;
    const inProgress = this.inProgress.map((one) => one.vm).filter((one) => !waiting.has(one));
    const budget = new RunBudget({
      keepsAvailable: true,
      counted,
      snapshot,
      inProgress,
      most: this.maxRestarts,
      now: cluster.now,
    });
    if (need.need !== 'act' || budget.whyNot(vm) !== null) return false;
    const wasDown = cluster.isDown(key);
    cluster.restart(key);
    count(this.restarted, vm.uid);
    if (!wasDown) this.#expectWithinLimits(key);
    return true;
  }

  /**
   * Expects both limits on VMs that are down to be kept: among those that it restarted, whatever the cause, and in the
   * pool.
   */
  #expectWithinLimits(key: string): void {
    const { vms, owner } = this.#cluster;
    const down = [...vms.values()].filter(
      (vm) => this.restarted.has(vm.uid) && this.#cluster.isDown(namespacedName(vm)),
    );
    const hopeless = new Set(this.failed.filter(({ wasAvailable }) => !wasAvailable).map(({ vm }) => vm));
    const spoiled = down.filter(
      (vm) =>
        vm.transition?.id === this.id &&
        !hopeless.has(namespacedName(vm)) &&
        this.#cluster.vmis.get(namespacedName(vm))?.pause == null,
    );
    expect(spoiled.length).toBeLessThanOrEqual(this.maxRestarts);
    if (vms.get(key)!.owner !== null)
      expect(owner.vms().filter((vm) => this.#cluster.isDown(namespacedName(vm))).length).toBeLessThanOrEqual(1);
  }
}

const mayTake = (): boolean => true;

const count = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
