import type { BudgetSpec } from '../../api/budgets/budget.ts';
import type { Stored } from '../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { selectorText } from '../../decisions/replica-sets/status.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';

/**
 * Says so if the budget's labels are those of VMIs, which VMs get from their templates, and no VM has them. A
 * cluster-wide one is left to its status.
 */
export async function whyNoneMatches(kube: KubeClient, { after }: { after: Stored }): Promise<string[]> {
  const { namespace, name } = after.metadata;
  if (namespace === undefined) return [];
  const labelSelector = selectorText((after['spec'] as BudgetSpec).selector);
  const [vms, vmis] = await Promise.all(
    [VirtualMachines, VirtualMachineInstances].map((resource) =>
      kube.list(resource, { namespace, labelSelector, metadataOnly: true }).then(
        ({ items }) => items,
        // Not all who may write budgets may list VMs.
        (error: unknown) => (error instanceof KubeError ? undefined : Promise.reject(error as Error)),
      ),
    ),
  );
  const [example] = vmis ?? [];
  if (vms?.length !== 0 || example === undefined) return [];
  return [
    `budget ${name}: no VM has the labels of spec.selector, only VMIs such as ${example.metadata.name}, from ` +
      'spec.template.metadata of their VMs: label the VMs themselves, in their own metadata',
  ];
}
