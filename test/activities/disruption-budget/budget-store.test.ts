import { expect, test } from 'vitest';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { BudgetStore } from '../../../activities/disruption-budget/budget-store.ts';
import { BudgetTallies } from '../../../activities/disruption-budget/budget-tallies.ts';
import type { BudgetStatus } from '../../../api/budgets/budget.ts';
import { conditionOf } from '../../../api/objects.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { aBudget } from '../../api/budgets/budgets.ts';

test.each([
  ['of one namespace', { namespace: 'shop' }, 'NodesUnknown'],
  ['of the cluster', {}, 'Held'],
])(
  'workers %s, which may not read nodes if of one namespace, say so of a budget with a topology',
  (_, scope, reason) => {
    const client = {} as unknown as KubeClient;
    const cache = new ClusterCache({ client, ...scope });
    const store = new BudgetStore(client, cache, new BudgetTallies(cache));
    const budget = aBudget({ topology: { key: 'zone', maxDomains: 1 } });
    const status = store.grant(budget, [], [], new Map()).statusOf(undefined) as BudgetStatus;
    expect(conditionOf(status, 'Ready')?.reason).toBe(reason);
  },
);
