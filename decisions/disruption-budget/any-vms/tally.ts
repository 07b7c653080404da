import type { BudgetClaim } from '../../../api/budgets/budget.ts';
import type { VmiOf } from '../../health/availability.ts';
import type { VmView } from '../../views/vm.ts';
import type { VmiView } from '../../views/vmi.ts';
import { namespacedName } from '../restart-budget.ts';
import type { StoredBudget } from '../stored-budget.ts';
import { countsMigrations, isApart } from './allowed.ts';
import { selects, type LabelsOfNamespace } from './budget-index.ts';
import { add, countsOf, labelsMadeBy, missingOf, NOT_COUNTED, type Counts, type VmKeeper } from './counts.ts';
import { domainOf, DownDomains, type LabelsOfNode } from './domains.ts';

/** The VMs that a worker knows, and what keeps them at a number. */
export interface Fleet {
  /** VMs of the namespace; of all, if it is undefined. */
  vms: (namespace: string | undefined) => Iterable<VmView>;
  /** By `namespace/name`. */
  vmOf: (key: string) => VmView | undefined;
  vmiOf: VmiOf;
  keepers: () => Iterable<VmKeeper>;
  /** The pool or set as it is now. */
  keeperNow: (keeper: VmKeeper) => VmKeeper | undefined;
  membersOf: (keeper: VmKeeper) => readonly VmView[];
  labelsOf: LabelsOfNamespace;
  labelsOfNode: LabelsOfNode;
}

/**
 * How the VMs of one budget count, by the spec of one generation. Kept as the fleet changes: a claim costs a look at
 * the VMs that have changed since the last one, not at all VMs.
 */
export class BudgetTally {
  readonly budget: StoredBudget;
  readonly #fleet: Fleet;
  /** By `namespace/name` of the VMs that the budget selects. */
  readonly #counts = new Map<string, Counts>();
  /** In which domain each VM served last, if the budget has a topology. */
  readonly #domains = new Map<string, string>();
  /** VMs that should serve and do not. */
  readonly #down = new Set<string>();
  /** How many VMs are missing, by the UIDs of their pools and sets. */
  readonly #missing = new Map<string, number>();
  readonly #changed = new Set<string>();
  /** By UID. */
  readonly #changedKeepers = new Map<string, VmKeeper>();
  readonly #total: Counts = { ...NOT_COUNTED };

  constructor(budget: StoredBudget, fleet: Fleet) {
    this.budget = budget;
    this.#fleet = fleet;
    for (const vm of fleet.vms(budget.metadata.namespace)) this.#look(namespacedName(vm), vm);
    for (const keeper of fleet.keepers()) this.#lookAtKeeper(keeper.metadata.uid, keeper);
  }

  /** Notes that the VM, its VMI or what it shows of its node has changed. */
  changed(key: string): void {
    this.#changed.add(key);
  }

  /** Notes that this pool or set, or which VMs it has, has changed. */
  keeperChanged(keeper: VmKeeper): void {
    this.#changedKeepers.set(keeper.metadata.uid, keeper);
  }

  /** All VMs together, as they are now. */
  get total(): Counts {
    this.#catchUp();
    return this.#total;
  }

  /** How many VMs the budget selects. */
  get matched(): number {
    this.#catchUp();
    return this.#counts.size;
  }

  /** How this VM counts; undefined if the budget does not select it. */
  of(key: string): Counts | undefined {
    this.#catchUp();
    return this.#counts.get(key);
  }

  /** Whether there is this VM, selected or not. */
  knows(key: string): boolean {
    return this.#fleet.vmOf(key) !== undefined;
  }

  /** How many VMs are missing. */
  get missing(): number {
    this.#catchUp();
    return [...this.#missing.values()].reduce((sum, count) => sum + count, 0);
  }

  /** In which domain the VM serves, or did last; null if that is not known, or of no concern. */
  domainOf(vm: VmView, vmi: VmiView | undefined): string | null {
    const { spec } = this.budget;
    const now = domainOf(spec, vm, vmi, this.#fleet.labelsOfNode);
    const last = this.#domains.get(namespacedName(vm)) ?? null;
    return vmi?.ready === true ? (now ?? last) : (last ?? now);
  }

  /** Whether both count one VM at least. */
  shares(other: BudgetTally): boolean {
    const [few, many] = this.matched < other.matched ? [this, other] : [other, this];
    return few.#counts.keys().some((key) => many.#counts.has(key));
  }

  /** VMs that should serve and do not, with their domains; null for one that is not known. */
  get down(): (readonly [string, string | null])[] {
    this.#catchUp();
    return [...this.#down].map((key) => [key, this.#domains.get(key) ?? null] as const);
  }

  /** The domains of all VMs that are down or claimed to go down. A VM that migrates under its own limit stays up. */
  domains(claims: readonly BudgetClaim[]): DownDomains {
    const absent = claims.filter((claim) => !this.knows(`${claim.namespace}/${claim.vm}`)).length;
    const down = this.budget.spec.topology === undefined ? [] : this.down;
    const domains = new DownDomains(this.budget.spec, down, this.missing - absent);
    for (const { namespace, vm, migration, domain = null } of claims) {
      const key = `${namespace}/${vm}`;
      if (!isApart(this.budget.spec, migration) || this.of(key)?.available !== 1) domains.add(key, domain);
    }
    return domains;
  }

  #catchUp(): void {
    for (const key of this.#changed) this.#look(key, this.#fleet.vmOf(key));
    this.#changed.clear();
    for (const [uid, keeper] of this.#changedKeepers) this.#lookAtKeeper(uid, this.#fleet.keeperNow(keeper));
    this.#changedKeepers.clear();
  }

  #look(key: string, vm: VmView | undefined): void {
    const { vmiOf, labelsOf } = this.#fleet;
    add(this.#total, this.#counts.get(key) ?? NOT_COUNTED, -1);
    this.#down.delete(key);
    if (vm === undefined || !selects(this.budget, vm, labelsOf)) {
      this.#counts.delete(key);
      this.#domains.delete(key);
      return;
    }
    const counts = countsOf(vm, vmiOf(vm), countsMigrations(this.budget.spec));
    this.#counts.set(key, counts);
    add(this.#total, counts, 1);
    if (counts.expected > counts.available) this.#down.add(key);
    // The domain in which it served last counts: its next VMI may come up elsewhere.
    const domain = this.domainOf(vm, vmiOf(vm));
    if (domain !== null) this.#domains.set(key, domain);
  }

  #lookAtKeeper(uid: string, keeper: VmKeeper | undefined): void {
    this.#total.expected -= this.#missing.get(uid) ?? 0;
    this.#missing.delete(uid);
    if (keeper === undefined || !this.#selectsMadeBy(keeper)) return;
    const missing = missingOf(keeper, this.#fleet.membersOf(keeper));
    this.#missing.set(uid, missing);
    this.#total.expected += missing;
  }

  #selectsMadeBy(keeper: VmKeeper): boolean {
    const { namespace } = keeper.metadata;
    return selects(this.budget, { namespace, ownLabels: labelsMadeBy(keeper) }, this.#fleet.labelsOf);
  }
}
