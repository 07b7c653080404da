import { expect, test } from 'vitest';
import type { BudgetSpec } from '../../../api/budgets/budget.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  Namespaces,
  Nodes,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstances,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { budgetOutlook } from '../../../clients/apply/budget-outlook.ts';
import { BUDGETS } from '../../../clients/cli/kinds.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aBudget } from '../../api/budgets/budgets.ts';

const META = { namespace: 'shop', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const vm = (name: string, runStrategy = 'Always') => ({
  metadata: { ...META, name, uid: name, labels: { app: 'db' } },
  spec: { runStrategy, template: {} },
  status: { printableStatus: 'Running' },
});
const clusterWide = (budget: StoredBudget): StoredBudget => {
  const { namespace: _, ...metadata } = budget.metadata;
  return { ...budget, metadata, spec: { ...budget.spec, namespaceSelector: { matchLabels: { team: 'shop' } } } };
};
const other = (name: string, spec: Omit<BudgetSpec, 'selector'> = { maxUnavailable: 1 }): StoredBudget => {
  const budget = aBudget(spec);
  return { ...budget, metadata: { ...budget.metadata, name, uid: name } };
};

/** What is said of the budget to users who may not list these kinds. */
async function said(
  budget: StoredBudget,
  lists: readonly (readonly [Resource, readonly object[]])[],
  ...hidden: Resource[]
): Promise<string[]> {
  const known = new Map<Resource, readonly object[]>(lists);
  const list = async (resource: Resource) => {
    if (hidden.includes(resource)) throw new KubeError(403, 'Forbidden', 'no');
    return { items: [...(known.get(resource) ?? [])] };
  };
  const kind = BUDGETS[budget.metadata.namespace === undefined ? 1 : 0]!;
  return budgetOutlook({ list } as unknown as KubeClient, { kind, after: budget });
}

const nodesWith = (labels: object) => [Nodes, [{ metadata: { name: 'node-1' } }, { metadata: { labels } }]] as const;
const opening = (cron: string) => ({ windows: [{ cron, duration: '1h' }], outside: 'Deny' as const });
const manyOthers = (count: number) =>
  [VirtualMachineDisruptionBudgets, Array.from({ length: count }, (_, index) => other(`other-${index}`))] as const;
const THREE = [VirtualMachines, [vm('db-1'), vm('db-2'), vm('db-3', 'Halted')]] as const;

test('a budget that matches no VM says so, and whether VMIs alone have its labels', async () => {
  expect(await said(aBudget(), [])).toEqual(['disruption budget db: no VM has the labels of spec.selector yet']);
  expect(await said(aBudget(), [[VirtualMachineInstances, [{ metadata: { ...META, name: 'db-1' } }]]])).toEqual([
    expect.stringContaining('disruption budget db: no VM has the labels of spec.selector, only VMIs such as db-1'),
  ]);
  expect(await said(aBudget(), [THREE])).toEqual([]);
  expect(await said(clusterWide(aBudget()), [])).toEqual([]);
});

test('nothing is said to users who may not see what tells it', async () => {
  const never = aBudget({ minAvailable: 2, topology: { key: 'zone', maxDomains: 1 } });
  expect(await said(never, [THREE], VirtualMachines, Nodes)).toEqual([]);
  expect(await said(aBudget(), [THREE], VirtualMachineDisruptionBudgets)).toEqual([]);
});

test('minAvailable of as many VMs as should run never has room', async () => {
  const note =
    'disruption budget db: spec.minAvailable is 2, and 2 VMs should run now: drover disrupts none of them, and drains of their nodes wait until this changes';
  expect(await said(aBudget({ minAvailable: 2 }), [THREE])).toEqual([note]);
  expect(await said(aBudget({ minAvailable: '99%' }), [THREE])).toHaveLength(1);
  expect(await said(aBudget({ minAvailable: 1 }), [THREE])).toEqual([]);
});

test('a label of nodes that no node has makes one domain of all', async () => {
  const zones = aBudget({ topology: { key: 'zone', maxDomains: 1 } });
  expect(await said(zones, [THREE, nodesWith({ rack: 'a' })])).toEqual([
    'disruption budget db: no node has the label of spec.topology.key, so that all nodes are one domain: zone',
  ]);
  expect(await said(zones, [THREE, nodesWith({ zone: 'a' })])).toEqual([]);
});

test('two budgets that deny all outside of windows that never meet are told', async () => {
  const night = aBudget(opening('0 3 * * *'));
  const namespaces = [Namespaces, [{ metadata: { name: 'shop', labels: { team: 'shop' } } }]] as const;
  const others = [
    [
      VirtualMachineDisruptionBudgets,
      [night, other('day', opening('0 15 * * *')), other('same', opening('30 3 * * *'))],
    ],
    [ClusterVirtualMachineDisruptionBudgets, [clusterWide(other('all', opening('0 16 * * *')))]],
  ] as const;
  const never = 'are never open at the same time: drover never disrupts db-1, which both select';
  expect((await said(night, [THREE, namespaces, ...others])).toSorted()).toEqual([
    `disruption budget db: spec.windows and those of cluster-wide disruption budget all ${never}`,
    `disruption budget db: spec.windows and those of disruption budget shop/day ${never}`,
  ]);
});

test('more than four budgets over one VM are told', async () => {
  expect(await said(aBudget(), [THREE, manyOthers(3)])).toEqual([]);
  expect(await said(aBudget(), [THREE, manyOthers(4)])).toEqual([
    'disruption budget db: VM db-1 is under 5 disruption budgets: each must have room at once',
  ]);
});
