import { conditionOf } from '../../api/objects.ts';
import { ClusterVirtualMachineDisruptionBudgets } from '../../api/resources.ts';
import { CLUSTER_WIDE, withNames } from '../../decisions/disruption-budget/any-vms/allowed.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { operationName } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { claimIsBy } from '../view/claim-is-for.ts';

const waitsForClusterWide = ({ status }: StoredOperation): boolean =>
  status?.waits?.some(({ message }) => message.includes(CLUSTER_WIDE)) === true;

/**
 * Names the cluster-wide budgets that the operation waits for, of those that the user may see: its status, which others
 * may see as well, does not.
 */
export function withBudgetNames(operation: StoredOperation, budgets: Iterable<StoredBudget>): StoredOperation {
  const { status } = operation;
  if (status?.waits === undefined || !waitsForClusterWide(operation)) return operation;
  const by = `operation ${operationName(operation.metadata)}`;
  const all = [...budgets];
  const full = all.filter((budget) => budget.status?.waiting?.some((waiter) => claimIsBy(waiter.by) === by));
  // What waits for windows is in no list.
  const closed = all.filter((budget) => conditionOf(budget.status, 'Closed')?.status === 'True');
  const named = (message: string): string => withNames(message, message.includes(`${CLUSTER_WIDE}:`) ? closed : full);
  const waits = status.waits.map((wait) => ({ ...wait, message: named(wait.message) }));
  return { ...operation, status: { ...status, waits } };
}

/** Reads the budgets for that, if it is of use. */
export async function readBudgetNames(kube: KubeClient, operation: StoredOperation): Promise<StoredOperation> {
  if (!waitsForClusterWide(operation)) return operation;
  const list = kube.list<StoredBudget>(ClusterVirtualMachineDisruptionBudgets);
  // Names are an extra: the operation is shown in any case.
  const { items } = await list.catch(() => ({ items: [] }));
  return withBudgetNames(operation, items);
}
