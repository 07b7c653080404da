import type { BudgetSpec } from '../../../../api/budgets/budget.ts';
import type { VmKeeper } from '../../../../decisions/disruption-budget/any-vms/counts.ts';
import { BudgetTally, type Fleet } from '../../../../decisions/disruption-budget/any-vms/tally.ts';
import { namespacedName } from '../../../../decisions/disruption-budget/restart-budget.ts';
import type { StoredBudget } from '../../../../decisions/disruption-budget/stored-budget.ts';
import { isOwnedBy, type VmView } from '../../../../decisions/views/vm.ts';
import type { VmiView } from '../../../../decisions/views/vmi.ts';
import { aBudget } from '../../../api/budgets/budgets.ts';
import { aVm, aVmi } from '../../fixtures/fleets.ts';

/** A VM of the budget `aBudget`, in no pool. */
export const aDb = (name: string, fields: Partial<VmView> = {}): VmView =>
  aVm(name, { owner: null, ownLabels: { app: 'db' }, ...fields });

/** A budget of these limits over all VMs with the label `app: db`; by default of the namespace `shop`. */
export const budgetOf = (spec: Partial<BudgetSpec>, metadata: Partial<StoredBudget['metadata']> = {}): StoredBudget => {
  const budget = aBudget({ maxUnavailable: 1 });
  return {
    ...budget,
    metadata: { ...budget.metadata, ...metadata },
    spec: { selector: budget.spec.selector, ...spec },
  };
};

/** What a worker knows: its parts may change. */
export class FleetOf implements Fleet {
  readonly known = new Map<string, VmView>();
  readonly owners: VmKeeper[] = [];
  readonly namespaces = new Map<string, Record<string, string>>();
  /** Fields of VMIs, by the keys of their VMs; null for none. */
  readonly vmis = new Map<string, Partial<VmiView> | null>();
  readonly nodes = new Map<string, Record<string, string>>();
  readonly looks: string[] = [];

  constructor(vms: readonly VmView[] = [], owners: readonly VmKeeper[] = []) {
    for (const vm of vms) this.put(vm);
    this.owners.push(...owners);
  }

  put(vm: VmView, vmi: Partial<VmiView> | null = vm.hasVmi ? {} : null): void {
    this.known.set(namespacedName(vm), vm);
    this.vmis.set(namespacedName(vm), vmi);
  }

  *vms(namespace: string | undefined): Generator<VmView> {
    for (const vm of this.known.values()) if (namespace === undefined || vm.namespace === namespace) yield vm;
  }

  vmOf = (key: string): VmView | undefined => {
    this.looks.push(key);
    return this.known.get(key);
  };

  vmiOf = (vm: VmView): VmiView | undefined => {
    const fields = this.vmis.get(namespacedName(vm));
    return fields == null ? undefined : aVmi(vm, fields);
  };

  keepers = (): readonly VmKeeper[] => this.owners;
  keeperNow = (keeper: VmKeeper): VmKeeper | undefined =>
    this.owners.find(({ metadata }) => metadata.uid === keeper.metadata.uid);
  membersOf = ({ metadata }: VmKeeper): VmView[] =>
    [...this.known.values()].filter((vm) => isOwnedBy(vm, 'VirtualMachinePool', metadata));
  labelsOf = (namespace: string): Record<string, string> | undefined => this.namespaces.get(namespace);

  labelsOfNode = (node: string): Record<string, string> | undefined => this.nodes.get(node);

  tally(budget: StoredBudget): BudgetTally {
    return new BudgetTally(budget, this);
  }
}
