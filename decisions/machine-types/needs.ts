import { conditionOf } from '../../api/objects.ts';
import { namespacedName, type OwningPool, type VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import { excluded, NOTHING, type Need } from '../disruption/need.ts';
import { isDown } from '../health/availability.ts';
import { powerNeed } from '../power/need.ts';
import { recordOf } from '../views/annotations/transition-record.ts';
import type { VmView } from '../views/vm.ts';
import { formatPool, isSameFailure, type NotRetried, type Touched } from './not-retried.ts';
import { poolTransitionState } from './pool-state.ts';
import { put, Tally, type Judged, type Role } from './tally.ts';
import type { TransitionRules } from './transition-rules.ts';
import type { PoolTransitionState } from './transition.ts';
import { transitionNeed, type TransitionNeed } from './vm-need.ts';

/** All VMs and all of drover's pools, as they are now; by `namespace/name`. */
export interface Fleet extends VmsSnapshot {
  vms: () => Iterable<VmView>;
  pools: () => Iterable<OwningPool>;
  poolAt: (key: string) => OwningPool | undefined;
}

interface JudgedPool {
  uid: string;
  state: PoolTransitionState;
  /** Differs whenever what its VMs need may differ. */
  print: string;
  /** Id of the transition that last changed it. */
  record: string | null;
}

/**
 * What all VMs need from a transition, with their sums, kept by difference: the watcher of the fleet reports each
 * change of a VM, a VMI or a pool, and a change costs no more in a larger fleet. The cost of a change of a pool grows
 * with its VMs, and so does that of a VM whose pool's template still has an old type.
 */
export class TransitionNeeds {
  readonly rules: TransitionRules;
  readonly fleet: Fleet;
  readonly tally: Tally;
  /** Without VMs that need nothing. */
  readonly #vms = new Map<string, Judged>();
  readonly #pools = new Map<string, JudgedPool>();
  /** Pools that are to be judged again. */
  readonly #due = new Set<string>();
  readonly #toChange = new Set<string>();
  /** How many VMs and pools other transitions have left something on, by the transitions' ids. */
  readonly #others = new Map<string, number>();
  /** VMs that this transition has noted that it acts on, by the call that did. */
  readonly #recorded = new Map<number, Set<string>>();
  #inFlight: ReadonlySet<string> = new Set();
  #failed: ReadonlyMap<string, NotRetried> = new Map();

  constructor(rules: TransitionRules, fleet: Fleet) {
    this.rules = rules;
    this.fleet = fleet;
    this.tally = new Tally(rules);
    for (const { pool } of fleet.pools()) this.#judgePool(namespacedName(pool.metadata));
    for (const vm of fleet.vms()) if (fleet.poolOf(vm) === undefined) this.#judge(namespacedName(vm));
  }

  /** Ids of the other transitions that matter to these VMs and pools. */
  get others(): Iterable<string> {
    this.#judgePools();
    return this.#others.keys();
  }

  /** VMs on which this call of the transition's activity, or an earlier attempt of it, has noted that it acts. */
  recorded(turn: number): Iterable<string> {
    return this.#recorded.get(turn) ?? [];
  }

  /** Pools whose templates are to be changed, without pools whose change failed. */
  get pools(): string[] {
    this.#judgePools();
    return [...this.#toChange].filter((key) => !this.#failed.has(`pool ${key}`));
  }

  /** Whether there is a pool whose template is to be changed, or will be once dry runs have shown the result. */
  get changesPools(): boolean {
    this.#judgePools();
    return [...this.#pools.values()].some(({ state: { state } }) => state === 'change' || state === 'check');
  }

  /** Takes in that a VM, or its VMI, has changed. Returns whether that concerns the transition. */
  vmChanged(key: string, before?: VmView): boolean {
    const wasConcerned = this.#vms.has(key);
    const after = this.fleet.vmOf(key);
    for (const vm of [before, after]) {
      const pool = vm?.owner === undefined || vm.owner === null ? undefined : `${vm.namespace}/${vm.owner.name}`;
      // What VMs need of a pool whose template is as it should be depends on the template alone.
      if (pool !== undefined && this.#pools.has(pool) && this.#pools.get(pool)!.state.state !== 'rolls')
        this.#due.add(pool);
    }
    this.#judge(key);
    return wasConcerned || this.#vms.has(key);
  }

  /** Takes in that a pool has changed. Returns whether that concerns the transition. */
  poolChanged(key: string): boolean {
    this.#due.add(key);
    const vms = this.fleet.poolAt(key)?.vms() ?? [];
    return this.#judgePools() || vms.some((vm) => this.#vms.has(namespacedName(vm)));
  }

  /** Takes in which VMs are in flight, and which VMs and pools have failed. */
  follow({ inProgress, failed }: Touched): void {
    this.#judgePools();
    const [inFlight, failures] = [new Set(inProgress), new Map(failed.map((one) => [one.vm, one]))];
    const known = [this.#inFlight, this.#failed] as const;
    const names = new Set([...inFlight, ...known[0], ...failures.keys(), ...known[1].keys()]);
    const changed = [...names].filter(
      (key) => inFlight.has(key) !== known[0].has(key) || !isSameFailure(failures.get(key), known[1].get(key)),
    );
    const judged = changed.flatMap((key) => this.#vms.get(key) ?? []);
    for (const one of judged) this.tally.remove(one, this.#roleOf(one.vm));
    this.#inFlight = inFlight;
    this.#failed = failures;
    for (const one of judged) this.tally.add(one, this.#roleOf(one.vm));
    // Nothing else updates the VMs of a pool whose template could not be changed.
    const pools = changed.filter((key) => key.startsWith('pool ')).map((key) => key.slice('pool '.length));
    for (const pool of pools) this.#judgeVmsOf(pool, this.fleet.poolAt(pool));
  }

  #judge(key: string): void {
    const known = this.#vms.get(key);
    const vm = this.fleet.vmOf(key);
    const judged = vm === undefined || !this.rules.scope.isWithin(vm.namespace) ? null : this.#judgedOf(vm);
    if (known !== undefined) {
      this.tally.remove(known, this.#roleOf(known.vm));
      this.#count(idsOf(known.vm), -1);
      this.#trackRecord(key, known.vm, false);
    }
    // One that needs nothing still carries a mark, perhaps.
    if (judged === null || (judged.need.need === 'nothing' && judged.vm.transitionLabel === null)) {
      this.#vms.delete(key);
      return;
    }
    this.#vms.set(key, judged);
    this.tally.add(judged, this.#roleOf(judged.vm));
    this.#count(idsOf(judged.vm), 1);
    this.#trackRecord(key, judged.vm, true);
  }

  #judgedOf(vm: VmView): Judged {
    const [owner, vmi] = [this.fleet.poolOf(vm), this.fleet.vmiOf(vm)];
    const need = this.#unlessPoolFailed(transitionNeed(this.rules, vm, this.fleet));
    const restart: Need =
      need.need === 'restart' ? powerNeed('Restart', { target: need.vmi.uid, vm, vmi, owner }) : NOTHING;
    const pool = owner === undefined ? null : namespacedName(owner.pool.metadata);
    return { vm, need, restart, pool, isDown: isDown(vm, vmi) };
  }

  #unlessPoolFailed(need: TransitionNeed): TransitionNeed {
    if (need.need !== 'pool' || !this.#failed.has(formatPool(need.pool))) return need;
    return excluded(`its pool ${namespacedName(need.pool.metadata)} could not be changed`);
  }

  #roleOf(vm: VmView): Role {
    const key = namespacedName(vm);
    if (this.#inFlight.has(key)) return 'inFlight';
    const failure = this.#failed.get(key);
    return failure === undefined || (failure.uid !== undefined && failure.uid !== vm.uid) ? 'open' : failure;
  }

  #judgePools(): boolean {
    let hasChanged = false;
    for (const key of this.#due) hasChanged = this.#judgePool(key) || hasChanged;
    this.#due.clear();
    return hasChanged;
  }

  /** Returns whether what its VMs need may have changed. */
  #judgePool(key: string): boolean {
    const known = this.#pools.get(key);
    const owner = this.fleet.poolAt(key);
    if (known !== undefined) this.rules.pools.delete(known.uid);
    const judged = owner === undefined ? undefined : this.#judgedPoolOf(owner);
    if (known?.print === judged?.print) return false;
    this.#count([known?.record], -1);
    this.#count([judged?.record], 1);
    if (judged === undefined) this.#pools.delete(key);
    else this.#pools.set(key, judged);
    if (judged?.state.state === 'change') this.#toChange.add(key);
    else this.#toChange.delete(key);
    this.#judgeVmsOf(key, owner);
    if (known !== undefined && known.uid !== judged?.uid) this.#judgeVmsOf(key, undefined);
    return true;
  }

  #judgedPoolOf(owner: OwningPool): JudgedPool {
    const { metadata, status } = owner.pool;
    const state = poolTransitionState(this.rules, owner, this.fleet);
    const record = recordOf(metadata.annotations)?.id ?? null;
    const progress = conditionOf(status, 'Progressing')?.reason;
    const rollout = [metadata.generation, status?.updateRevision, progress, state.state === 'rolls' && status?.rollout];
    return { uid: metadata.uid, state, record, print: JSON.stringify([metadata.uid, record, state, rollout]) };
  }

  /** Judges the VMs of a pool; if it is gone, its former VMs. */
  #judgeVmsOf(key: string, owner: OwningPool | undefined): void {
    const former = (): string[] => [...this.#vms].flatMap(([vm, { pool }]) => (pool === key ? [vm] : []));
    for (const vm of owner?.vms().map(namespacedName) ?? former()) this.#judge(vm);
  }

  #trackRecord(key: string, { power }: VmView, isThere: boolean): void {
    if (power?.turn === undefined || power.by !== this.rules.ref.id) return;
    const keys = this.#recorded.get(power.turn) ?? new Set();
    put(keys, key, isThere);
    this.#recorded.set(power.turn, keys);
  }

  #count(ids: readonly (string | null | undefined)[], by: 1 | -1): void {
    for (const id of ids) {
      if (id === null || id === undefined || id === this.rules.ref.id) continue;
      const count = (this.#others.get(id) ?? 0) + by;
      if (count === 0) this.#others.delete(id);
      else this.#others.set(id, count);
    }
  }
}

const idsOf = ({ transition, transitionLabel }: VmView): (string | null | undefined)[] => [
  transition?.id,
  transitionLabel,
];
