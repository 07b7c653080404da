import {
  ClusterVirtualMachineDisruptionBudgets,
  Namespaces,
  VirtualMachineDisruptionBudgets,
} from '../../api/resources.ts';
import {
  BudgetIndex,
  selects,
  type LabelsOfNamespace,
} from '../../decisions/disruption-budget/any-vms/budget-index.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { vmiView } from '../../decisions/from-object/vmi.ts';
import { selectorText } from '../../decisions/replica-sets/status.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreForbidden, ignoreUnseen } from '../../kubernetes/errors.ts';
import { byName } from '../cli/owner.ts';
import { readVms } from './read-vms.ts';

/** Those of the namespace, or of all, and cluster-wide ones if the user may see them. */
export async function listBudgets(kube: KubeClient, namespace: string | undefined): Promise<StoredBudget[]> {
  const [own, clusterWide] = await Promise.all([
    kube.list<StoredBudget>(VirtualMachineDisruptionBudgets, { namespace }),
    ignoreForbidden(kube.list<StoredBudget>(ClusterVirtualMachineDisruptionBudgets)),
  ]);
  return [...(clusterWide?.items ?? []), ...own.items].sort(byName);
}

/** Reads the labels that these budgets select namespaces by, as far as the user may see them. */
async function labelsOfNamespaces(kube: KubeClient, budgets: readonly StoredBudget[]): Promise<LabelsOfNamespace> {
  const namespaces = budgets.some(({ spec }) => spec.namespaceSelector !== undefined)
    ? await ignoreUnseen(kube.list(Namespaces, { metadataOnly: true }))
    : undefined;
  const labels = new Map(namespaces?.items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  return (namespace) => labels.get(namespace);
}

/** Returns what tells which of these budgets a VM is under, as far as the user may see that. */
export async function indexOf(kube: KubeClient, budgets: readonly StoredBudget[]): Promise<BudgetIndex> {
  const index = new BudgetIndex(await labelsOfNamespaces(kube, budgets));
  for (const budget of budgets) index.change(undefined, budget);
  return index;
}

/** Returns the VMs that the budget selects; undefined if the user may not list VMs. */
export async function vmsOf(
  kube: KubeClient,
  budget: StoredBudget,
): Promise<{ vm: VmView; vmi: VmiView | undefined }[] | undefined> {
  const { namespace } = budget.metadata;
  const [vms, labelsOf] = await Promise.all([
    ignoreForbidden(readVms(kube, { namespace, selector: selectorText(budget.spec.selector) })),
    labelsOfNamespaces(kube, [budget]),
  ]);
  return vms
    ?.map(({ vm, vmi }) => ({ vm: vmView(vm), vmi: vmi && vmiView(vmi) }))
    .filter(({ vm }) => selects(budget, vm, labelsOf));
}
