import type { Stored } from '../../api/objects.ts';
import { Nodes, VirtualMachineInstances } from '../../api/resources.ts';
import { nameBudget } from '../../decisions/disruption-budget/any-vms/allowed.ts';
import { neverHasRoom } from '../../decisions/disruption-budget/any-vms/budget-status.ts';
import { countsOf } from '../../decisions/disruption-budget/any-vms/counts.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { everMeet } from '../../decisions/lib/maintenance-windows.ts';
import { selectorText } from '../../decisions/replica-sets/status.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreUnseen } from '../../kubernetes/errors.ts';
import type { Kind } from '../cli/kinds.ts';
import { indexOf, listBudgets, vmsOf } from '../operations/read-budgets.ts';

/** More budgets than these on one VM are more than its owner can follow. */
const MOST_BUDGETS = 4;

/**
 * Says what the author of a budget may not expect, as far as the user may see what tells it. What VMs tell of a
 * cluster-wide budget is left to its status.
 */
export async function budgetOutlook(
  kube: KubeClient,
  { kind, after }: { kind: Kind; after: Stored },
): Promise<string[]> {
  const budget = after as StoredBudget;
  const { namespace, name } = budget.metadata;
  const notes = await Promise.all([
    whyOneDomain(kube, budget),
    namespace === undefined ? [] : whatVmsTell(kube, budget, namespace),
  ]);
  return notes.flat().map((note) => `${kind.noun} ${name}: ${note}`);
}

async function whyOneDomain(kube: KubeClient, { spec: { topology } }: StoredBudget): Promise<string[]> {
  if (topology === undefined) return [];
  const nodes = await ignoreUnseen(kube.list(Nodes, { metadataOnly: true }));
  if (nodes === undefined || nodes.items.some(({ metadata }) => metadata.labels?.[topology.key] !== undefined))
    return [];
  return [`no node has the label of spec.topology.key, so that all nodes are one domain: ${topology.key}`];
}

async function whatVmsTell(kube: KubeClient, budget: StoredBudget, namespace: string): Promise<string[]> {
  const [vms, budgets = []] = await Promise.all([vmsOf(kube, budget), ignoreUnseen(listBudgets(kube, namespace))]);
  if (vms === undefined) return [];
  if (vms.length === 0) return whyNoneMatches(kube, budget, namespace);
  const others = await indexOf(
    kube,
    budgets.filter((other) => !isSame(other, budget)),
  );
  const under = vms.map(({ vm }) => ({ vm, others: others.of(vm) }));
  const expected = vms.reduce((sum, { vm, vmi }) => sum + countsOf(vm, vmi, false).expected, 0);
  return [...whyNever(budget, expected), ...whyNeverOpen(budget, under), ...whyMany(under)];
}

const isSame = ({ metadata: one }: StoredBudget, { metadata: other }: StoredBudget): boolean =>
  one.name === other.name && one.namespace === other.namespace;

/** Not all who label VMs know which of the labels are theirs, and which are those of VMIs. */
async function whyNoneMatches(kube: KubeClient, { spec }: StoredBudget, namespace: string): Promise<string[]> {
  const labelSelector = selectorText(spec.selector);
  const vmis = await ignoreUnseen(kube.list(VirtualMachineInstances, { namespace, labelSelector, metadataOnly: true }));
  const [example] = vmis?.items ?? [];
  if (example === undefined) return ['no VM has the labels of spec.selector yet'];
  return [
    `no VM has the labels of spec.selector, only VMIs such as ${example.metadata.name}, from ` +
      'spec.template.metadata of their VMs: label the VMs themselves, in their own metadata',
  ];
}

/** What a manifest tells by itself was told when it was read. */
function whyNever(budget: StoredBudget, expected: number): string[] {
  const { minAvailable } = budget.spec;
  if (minAvailable === undefined || minAvailable === '100%' || !neverHasRoom(budget, { expected })) return [];
  return [
    `spec.minAvailable is ${minAvailable}, and ${formatVms(expected)} should run now: drover disrupts none of them, ` +
      'and drains of their nodes wait until this changes',
  ];
}

/** A VM, and the other budgets that select it. */
interface Under {
  vm: VmView;
  others: readonly StoredBudget[];
}

function whyNeverOpen({ spec: { windows, outside } }: StoredBudget, under: readonly Under[]): string[] {
  if (windows === undefined || outside !== 'Deny') return [];
  const denying = new Set(under.flatMap(({ others }) => others.filter(({ spec }) => spec.outside === 'Deny')));
  const never = [...denying].filter(({ spec }) => !everMeet(windows, spec.windows ?? [], Date.now()));
  return never.map((other) => {
    const { vm } = under.find(({ others }) => others.includes(other))!;
    return (
      `spec.windows and those of ${nameBudget(other)} are never open at the same time: drover never disrupts ${vm.name}, ` +
      'which both select'
    );
  });
}

function whyMany(under: readonly Under[]): string[] {
  const most = under.find(({ others }) => others.length >= MOST_BUDGETS);
  return most === undefined
    ? []
    : [`VM ${most.vm.name} is under ${most.others.length + 1} disruption budgets: each must have room at once`];
}
