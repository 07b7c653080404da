import { expect } from 'vitest';
import { MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../../api/names.ts';
import { isDown, isActive, liveVmi } from '../../../decisions/disruption-budget/availability.ts';
import {
  namespacedName,
  RestartBudget,
  type OwningPool,
  type VmsSnapshot,
} from '../../../decisions/disruption-budget/restart-budget.ts';
import { transitionRules, type TransitionRules } from '../../../decisions/machine-types/criteria.ts';
import { countedVms, type FailedVm, type VmiInProgress } from '../../../decisions/machine-types/limit.ts';
import { newRecord } from '../../../decisions/machine-types/new-record.ts';
import { planTransition, type TransitionPlan } from '../../../decisions/machine-types/plan.ts';
import { poolTransitionState, templateTypeOf } from '../../../decisions/machine-types/pool-state.ts';
import { faultOf } from '../../../decisions/machine-types/preflight.ts';
import type { Transition, TransitionRecord, TransitionResult } from '../../../decisions/machine-types/transition.ts';
import { transitionNeed } from '../../../decisions/machine-types/vm-need.ts';
import { powerNeed } from '../../../decisions/power/need.ts';
import { revisionOf } from '../../../decisions/revisions/hash.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVmi } from '../fixtures/fleets.ts';
import { aTypedPool, OLD } from './snapshots.ts';

/** With this preference, KubeVirt fills in an old type again. */
export const BAD_PREFERENCE = 'VirtualMachinePreference/old';

/** A small cluster with one pool: VMIs come and go, people change what they like, and the pool updates its VMs. */
export class ModelCluster {
  readonly vms = new Map<string, VmView>();
  readonly vmis = new Map<string, VmiView>();
  pool: StoredPool;
  /** The type that KubeVirt fills in for a cleared one. */
  readonly defaultType: string;
  /** The type that a VMI gets for `q35`. */
  readonly aliased: string;
  /** VMs that KubeVirt does not restart, whoever asks for it. */
  readonly stuck = new Set<string>();
  now = Date.parse('2026-01-02T03:04:05Z');
  #next = 0;

  constructor(vms: readonly VmView[], pool: StoredPool, types: Pick<ModelCluster, 'defaultType' | 'aliased'>) {
    this.pool = pool;
    this.defaultType = types.defaultType;
    this.aliased = types.aliased;
    for (const vm of vms) this.add(vm);
  }

  get snapshot(): VmsSnapshot {
    const owner = this.owner;
    return {
      vmOf: (key) => this.vms.get(key),
      vmiOf: (vm) => this.vmis.get(namespacedName(vm)),
      poolOf: (vm) => (vm.owner === null ? undefined : owner),
    };
  }

  get owner(): OwningPool {
    const owned = [...this.vms.values()].filter(({ owner }) => owner !== null);
    return { pool: this.pool, vms: () => owned };
  }

  /** Adds a VM. Its VMI has the type of its spec; for an alias, the type that the alias used to stand for. */
  add(vm: VmView): void {
    this.vms.set(namespacedName(vm), vm);
    this.#fit();
    if (vm.hasVmi)
      this.vmis.set(namespacedName(vm), aVmi(vm, { machineType: vm.machineType === 'q35' ? OLD : vm.machineType }));
  }

  isDown(key: string): boolean {
    const vm = this.vms.get(key);
    return vm !== undefined && isActive(vm) && isDown(vm, this.vmis.get(key));
  }

  change(key: string, fields: Partial<VmView>, vmiFields: Partial<VmiView> = {}): void {
    const vm = this.vms.get(key);
    if (vm === undefined) return;
    this.vms.set(key, { ...vm, ...fields });
    const vmi = this.vmis.get(key);
    if (vmi !== undefined) this.vmis.set(key, { ...vmi, ...vmiFields });
  }

  remove(key: string): void {
    this.vms.delete(key);
    this.vmis.delete(key);
    this.#fit();
  }

  setType(key: string, to: string | null): void {
    const vm = this.vms.get(key);
    if (vm !== undefined) this.change(key, { machineType: this.filledIn(vm, to) });
  }

  filledIn({ preference }: VmView, to: string | null): string {
    return to ?? (preference === BAD_PREFERENCE ? OLD : this.defaultType);
  }

  /** Ends the VMI. If the VM is meant to run, it gets another VMI later. */
  restart(key: string): void {
    if (this.stuck.has(key)) return this.change(key, { changingState: true });
    this.vmis.delete(key);
    // With `Manual`, KubeVirt starts the VM again because it was asked to.
    this.change(key, { ready: false, changingState: this.vms.get(key)?.runStrategy === 'Manual' });
  }

  halt(key: string): void {
    this.vmis.delete(key);
    this.change(key, { runStrategy: 'Halted', hasVmi: false, ready: false });
  }

  /** Brings a VM that is down one step nearer to being ready: a new VMI, its type, its readiness. */
  comeUp(key: string): void {
    const vm = this.vms.get(key);
    const current = this.vmis.get(key);
    if (vm === undefined || !this.isDown(key) || current?.paused === true) return;
    const { machineType, revision } = vm;
    if (current === undefined) {
      const fresh = aVmi(vm, {
        uid: `vmi-${this.#next++}`,
        ready: false,
        machineType: null,
        specMachineType: machineType,
        revision,
      });
      this.vmis.set(key, fresh);
      this.change(key, { hasVmi: true, changingState: false });
    } else if (current.machineType === null)
      this.change(key, {}, { machineType: current.specMachineType === 'q35' ? this.aliased : current.specMachineType });
    else this.change(key, { ready: true }, { ready: true });
  }

  /** Updates one VM to the pool's template, if no VM of the pool is down. */
  rollPool(): void {
    const vms = this.owner.vms();
    const revision = revisionOf(this.pool.spec.template);
    const behind = vms.find(
      (vm) => vm.revision !== revision || (this.vmis.get(namespacedName(vm))?.revision ?? revision) !== revision,
    );
    this.#tell(behind === undefined ? 'Complete' : 'RollingOut');
    if (behind === undefined || vms.some((vm) => this.isDown(namespacedName(vm)))) return;
    const key = namespacedName(behind);
    this.change(key, { revision });
    if (templateTypeOf(this.pool) !== null || behind.revision !== revision)
      this.setType(key, templateTypeOf(this.pool));
    if (this.vmis.has(key)) this.restart(key);
  }

  setTemplate(type: string | null, record?: TransitionRecord): void {
    const { spec, metadata } = aTypedPool(type, { replicas: this.pool.spec.replicas, maxUnavailable: 1 });
    const annotations =
      record === undefined
        ? this.pool.metadata.annotations
        : { [MACHINE_TYPE_TRANSITION_ANNOTATION]: JSON.stringify(record) };
    this.pool = {
      ...this.pool,
      spec,
      metadata: { ...metadata, ...(annotations === undefined ? {} : { annotations }) },
    };
  }

  /** Sets the pool's replicas to its number of VMs. */
  #fit(): void {
    this.pool = { ...this.pool, spec: { ...this.pool.spec, replicas: this.owner.vms().length } };
  }

  #tell(reason: string): void {
    const conditions = [{ type: 'Progressing', status: 'False' as const, reason }];
    this.pool = {
      ...this.pool,
      status: { replicas: 0, updateRevision: revisionOf(this.pool.spec.template), conditions },
    };
  }
}

/** Runs a transition on the model, as its workflow and its activities do. */
export class ModelTransition {
  readonly id: string;
  readonly transition: Transition;
  readonly #cluster: ModelCluster;
  readonly #others: () => ReadonlySet<string>;
  inProgress: VmiInProgress[] = [];
  failed: FailedVm[] = [];
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
    others: () => ReadonlySet<string> = () => new Set(),
  ) {
    this.#cluster = cluster;
    this.id = id;
    this.transition = transition;
    this.#others = others;
  }

  get rules(): TransitionRules {
    const { id, transition, results } = this;
    return transitionRules({ ref: { cluster: 'default', id }, transition, results, othersRunning: this.#others() });
  }

  get isEnding(): boolean {
    return this.aborted || this.broken > this.transition.maxFailures;
  }

  /** `luck` says after each action whether the worker survives. If it dies, another worker retries the activity. */
  turn(luck: () => boolean = () => true): void {
    if (this.isOver) return;
    const plan = this.#plan();
    this.#settle(plan);
    if (plan.isOver) return this.#end();
    this.#insistently(plan.unmark, luck, (key) => this.#unmark(key));
    if (this.isEnding) return;
    for (const { group, sample } of plan.check) {
      const to = this.#cluster.filledIn(this.#cluster.vms.get(sample)!, group.wanted);
      this.results.push({ ...group, to, vms: 1, fault: faultOf(this.rules, to, []) });
    }
    this.#insistently(plan.pools, luck, () => this.#changePool());
    this.#insistently(plan.patch, luck, (key) => this.#patch(key));
    const { now } = this.#cluster;
    this.inProgress.push(...plan.take.map((one) => ({ ...one, takenAt: now })));
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
    const { vms, snapshot, owner, now } = this.#cluster;
    const { rules, inProgress, failed, isEnding, maxRestarts } = this;
    return planTransition({
      rules,
      vms: vms.values(),
      pools: [owner],
      snapshot,
      inProgress,
      failed,
      maxRestarts,
      takes: !isEnding,
      isEnding,
      now,
    });
  }

  get maxRestarts(): number {
    return Number(this.transition.maxRestarts);
  }

  #settle({ settled }: TransitionPlan): void {
    for (const { vm, end } of settled) {
      const wasAvailable = this.inProgress.find((one) => one.vm === vm)?.wasDown === false;
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
      target: held.vmi,
      vm,
      vmi: cluster.vmis.get(key),
      owner: vm && snapshot.poolOf(vm),
    });
    if (vm === undefined || need.need === 'nothing' || vm.changingState) return true;
    const counted = countedVms(this.rules, vms.values(), snapshot, this);
    const inProgress = this.inProgress.map((one) => one.vm).filter((one) => !waiting.has(one));
    const budget = new RestartBudget({
      counted,
      snapshot,
      inProgress,
      maxUnavailable: this.maxRestarts,
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
        this.#cluster.vmis.get(namespacedName(vm))?.paused !== true,
    );
    expect(spoiled.length).toBeLessThanOrEqual(this.maxRestarts);
    if (vms.get(key)!.owner !== null)
      expect(owner.vms().filter((vm) => this.#cluster.isDown(namespacedName(vm))).length).toBeLessThanOrEqual(1);
  }
}

const count = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

/** Reports whether neither the VM nor its VMI is old any more. */
export const isNew = (isOld: (type: string | null) => boolean, vm: VmView, vmi: VmiView | undefined): boolean => {
  const live = liveVmi(vmi);
  if (isOld(vm.machineType)) return false;
  if (live === undefined || live.machineType === vm.machineType) return true;
  // If the alias is to be replaced, the VMI's own type says nothing.
  return !isOld(live.machineType ?? live.specMachineType) && (live.specMachineType !== 'q35' || !isOld('q35'));
};
