import type { BudgetSpec, BudgetStatus } from '../../api/budgets/budget.ts';
import type { KubeObject, StoredMeta } from '../../api/objects.ts';
import { ClusterVirtualMachineDisruptionBudgets, VirtualMachineDisruptionBudgets } from '../../api/resources.ts';

/** A disruption budget as the API server has it. One without a namespace is cluster-wide. */
export interface StoredBudget extends KubeObject {
  metadata: StoredMeta;
  spec: BudgetSpec;
  status?: BudgetStatus;
}

export const budgetResource = ({ namespace }: { namespace?: string | undefined }) =>
  namespace === undefined ? ClusterVirtualMachineDisruptionBudgets : VirtualMachineDisruptionBudgets;
