import type { BudgetSpec } from '../../api/budgets/budget.ts';
import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import { BudgetIndex, inOrder } from '../../decisions/disruption-budget/any-vms/budget-index.ts';
import { labelsMadeBy, type VmKeeper } from '../../decisions/disruption-budget/any-vms/counts.ts';
import { BudgetTally, type Fleet } from '../../decisions/disruption-budget/any-vms/tally.ts';
import { namespacedName } from '../../decisions/disruption-budget/restart-budget.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { isActive } from '../../decisions/health/availability.ts';
import { everMeet } from '../../decisions/lib/maintenance-windows.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';

/** Which budgets VMs are under, and how the VMs of each count, as this worker's caches have them. */
export class BudgetTallies {
  readonly #cache: ClusterCache;
  /** All budgets. */
  readonly index: BudgetIndex;
  readonly #tallies = new Map<string, BudgetTally>();
  readonly #fleet: Fleet;
  /** Whether the windows of two specs are ever open at the same time. */
  readonly #met = new WeakMap<object, WeakMap<object, boolean>>();

  constructor(cache: ClusterCache) {
    this.#cache = cache;
    this.#fleet = fleetOf(cache);
    this.index = new BudgetIndex(this.#fleet.labelsOf);
    for (const budget of cache.budgets.values()) this.index.change(undefined, budget);
    cache.subscribe((change) => this.#take(change));
  }

  /** Returns how VMs count by this spec of the budget. */
  tally(budget: StoredBudget): BudgetTally {
    const { uid, generation } = budget.metadata;
    const known = this.#tallies.get(uid);
    if (known?.budget.metadata.generation === generation && known !== undefined) return known;
    const tally = new BudgetTally(budget, this.#fleet);
    this.#tallies.set(uid, tally);
    return tally;
  }

  /**
   * Returns another budget that denies all outside of its windows, as this one does, which are never open at the same
   * time, and that has VMs in common with it; null if there is none.
   */
  neverWith(budget: StoredBudget): StoredBudget | null {
    if (budget.spec.outside !== 'Deny') return null;
    const own = this.tally(budget);
    const others = [...this.index.values()].filter((other) => other.spec.outside === 'Deny' && mayShare(budget, other));
    const never = others.toSorted(inOrder).find((other) => {
      const tally = this.tally(other);
      return own.shares(tally) && !this.#meet(own.budget.spec, tally.budget.spec);
    });
    return never ?? null;
  }

  /** It takes many milliseconds to find out, and is asked each second. */
  #meet(one: BudgetSpec, two: BudgetSpec): boolean {
    const known = this.#met.get(one) ?? new WeakMap<object, boolean>();
    this.#met.set(one, known);
    const meet = known.get(two) ?? everMeet(one.windows ?? [], two.windows ?? [], Date.now());
    known.set(two, meet);
    return meet;
  }

  /** A change costs the budgets that select what has changed, and nothing if none does. */
  #take(change: CacheChange): void {
    if (change.kind === 'budget') return this.#budgetChanged(change.before, change.after);
    if (this.#tallies.size === 0) return;
    if (change.kind === 'vm') this.#vmChanged(change.before, change.after);
    else if (change.kind === 'vmi') this.#vmiChanged(namespacedName((change.after ?? change.before)!));
    else if (change.kind === 'pool' || change.kind === 'replica set') this.#keeperChanged(change.before, change.after);
    else if (change.kind === 'node')
      for (const vmi of this.#cache.vmisByNode.of((change.after ?? change.before)!.name))
        this.#vmiChanged(namespacedName(vmi));
    else if (change.kind === 'namespace') this.#namespaceChanged();
  }

  #budgetChanged(before: StoredBudget | undefined, after: StoredBudget | undefined): void {
    this.index.change(before, after);
    if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.#tallies.delete(before.metadata.uid);
  }

  /** Other VMs may be selected now. */
  #namespaceChanged(): void {
    for (const [uid, { budget }] of this.#tallies)
      if (budget.spec.namespaceSelector !== undefined) this.#tallies.delete(uid);
  }

  #vmChanged(before: VmView | undefined, after: VmView | undefined): void {
    const key = namespacedName((after ?? before)!);
    for (const vm of [before, after]) if (vm !== undefined) this.#mark(vm, (tally) => tally.changed(key));
    if (placeIn(before) === placeIn(after)) return;
    for (const vm of [before, after]) {
      const keeper = vm && this.#keeperOf(vm);
      if (keeper !== undefined) this.#keeperChanged(undefined, keeper);
    }
  }

  #vmiChanged(key: string): void {
    const vm = this.#cache.vms.get(key);
    if (vm !== undefined) this.#mark(vm, (tally) => tally.changed(key));
  }

  #keeperChanged(before: VmKeeper | undefined, after: VmKeeper | undefined): void {
    if (before?.metadata.uid === after?.metadata.uid && before?.metadata.generation === after?.metadata.generation)
      return;
    for (const keeper of [before, after])
      if (keeper !== undefined) {
        const { namespace } = keeper.metadata;
        this.#mark({ namespace, ownLabels: labelsMadeBy(keeper) }, (tally) => tally.keeperChanged(keeper));
      }
  }

  #keeperOf({ owner, namespace }: VmView): VmKeeper | undefined {
    return owner === null ? undefined : keeperIn(this.#cache, owner.kind, { namespace, ...owner });
  }

  #mark(selected: Pick<VmView, 'namespace' | 'ownLabels'>, note: (tally: BudgetTally) => void): void {
    for (const { metadata } of this.index.of(selected)) {
      const tally = this.#tallies.get(metadata.uid);
      if (tally !== undefined) note(tally);
    }
  }
}

/** Whether there can be VMs of both. */
const mayShare = ({ metadata: one }: StoredBudget, { metadata: other }: StoredBudget): boolean =>
  one.uid !== other.uid && (one.namespace ?? other.namespace) === (other.namespace ?? one.namespace);

/** Whose member the VM is, as far as missing members are concerned. */
const placeIn = (vm: VmView | undefined): string | null =>
  vm === undefined || !isActive(vm) ? null : `${vm.owner?.uid} ${vm.role}`;

/** The pool or set, as the cache has it now. */
function keeperIn(
  { pools, replicaSets }: ClusterCache,
  kind: string | undefined,
  { namespace, name, uid }: { namespace: string; name: string; uid: string },
): VmKeeper | undefined {
  const keeper = (kind === 'VirtualMachineReplicaSet' ? replicaSets : pools).get(`${namespace}/${name}`);
  return keeper?.metadata.uid === uid ? keeper : undefined;
}

/** What tallies count. */
function fleetOf(cache: ClusterCache): Fleet {
  const { pools, replicaSets, vms } = cache;
  return {
    vms: (namespace) => (namespace === undefined ? vms.values() : vmsIn(vms.values(), namespace)),
    vmOf: (key) => vms.get(key),
    vmiOf: (vm) => cache.vmiOf(vm),
    *keepers() {
      yield* pools.values();
      yield* replicaSets.values();
    },
    keeperNow: ({ kind, metadata }) => keeperIn(cache, kind, metadata),
    membersOf: ({ kind, metadata }) => vms.ownedBy((kind ?? 'VirtualMachinePool') as VmOwnerKind, metadata),
    labelsOf: (namespace) => cache.namespaces.get(namespace),
    labelsOfNode: (node) => cache.nodes.get(node)?.labels,
  };
}

function* vmsIn(vms: Iterable<VmView>, namespace: string): Generator<VmView> {
  for (const vm of vms) if (vm.namespace === namespace) yield vm;
}
