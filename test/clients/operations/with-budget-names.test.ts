import { expect, test } from 'vitest';
import type { BudgetStatus } from '../../../api/budgets/budget.ts';
import { readBudgetNames, withBudgetNames } from '../../../clients/operations/with-budget-names.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aBudget } from '../../api/budgets/budgets.ts';
import { anOperation } from '../../decisions/operations/operations.ts';

const AT = '2026-01-01T00:00:00Z';
const clusterWide = (name: string, status: BudgetStatus = {}): StoredBudget => {
  const budget = aBudget();
  const { namespace: _, ...metadata } = budget.metadata;
  return { ...budget, metadata: { ...metadata, name, uid: name }, status };
};
const waitedForBy = (by: string): BudgetStatus => ({
  waiting: [{ by, reason: 'Restart', vms: 1, since: AT, seenAt: AT }],
});
const closed: BudgetStatus = {
  conditions: [{ type: 'Closed', status: 'True', reason: 'OutsideWindows', message: '' }],
};
const ALL = [
  clusterWide('all', waitedForBy('operation/c/shop/nightly/uid')),
  clusterWide('of-others', waitedForBy('operation/c/lab/nightly/uid')),
  clusterWide('night', closed),
  { ...aBudget(), status: waitedForBy('operation/c/shop/nightly/uid') },
];
const FULL = 'a cluster-wide disruption budget has no room';
const waiting = (...messages: string[]): StoredOperation =>
  anOperation({}, {}, { waits: messages.map((message) => ({ message })) });
const messagesOf = ({ status }: StoredOperation): string[] => status!.waits!.map(({ message }) => message);

test('an operation names the cluster-wide budgets that it waits for, and no others', () => {
  const operation = waiting(FULL, 'a cluster-wide disruption budget: the next window opens soon', 'its turn');
  expect(messagesOf(withBudgetNames(operation, ALL))).toEqual([
    'cluster-wide disruption budget all has no room',
    'cluster-wide disruption budget night: the next window opens soon',
    'its turn',
  ]);
  expect(messagesOf(withBudgetNames(operation, []))).toEqual(messagesOf(operation));
});

test('budgets are read only for their names, and are not named to users who may not read them', async () => {
  const calls: unknown[] = [];
  const kube = (answer: () => object): KubeClient =>
    ({ list: async () => (calls.push('list'), answer()) }) as unknown as KubeClient;
  const seen = kube(() => ({ items: ALL }));
  const unseen = kube(() => {
    throw new KubeError(403, 'Forbidden', 'no');
  });
  expect(messagesOf(await readBudgetNames(seen, waiting('its turn')))).toEqual(['its turn']);
  expect(calls).toEqual([]);
  expect(messagesOf(await readBudgetNames(seen, waiting(FULL)))[0]).toMatch(/^cluster-wide disruption budget all has/);
  expect(messagesOf(await readBudgetNames(unseen, waiting(FULL)))).toEqual([FULL]);
});
