import { expect, test } from 'vitest';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { BudgetStore } from '../../../activities/disruption-budget/budget-store.ts';
import { BudgetTallies } from '../../../activities/disruption-budget/budget-tallies.ts';
import type { BudgetStatus } from '../../../api/budgets/budget.ts';
import { conditionOf } from '../../../api/objects.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { aBudget } from '../../api/budgets/budgets.ts';
import { aDb, FleetOf } from '../../decisions/disruption-budget/any-vms/fixtures.ts';

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

test('the status says of no more than 200 VMs where they went down by themselves', () => {
  const fleet = new FleetOf();
  fleet.nodes.set('node-1', { zone: 'a' });
  for (let n = 0; n < 210; n++) fleet.put(aDb(`db-${n}`, { ready: false }), { ready: false, node: 'node-1' });
  const budget = aBudget({ topology: { key: 'zone', maxDomains: 1 } });
  const tallies = { tally: () => fleet.tally(budget), neverWith: () => null } as unknown as BudgetTallies;
  const known = { vms: fleet.known, delegated: [], missing: [], namespaces: new Map<string, object>() };
  const store = new BudgetStore({} as unknown as KubeClient, known as unknown as ClusterCache, tallies);
  const { claims = [] } = store.grant(budget, [], [], new Map()).statusOf(undefined) as BudgetStatus;
  expect(claims).toHaveLength(200);
  expect(claims[0]).toMatchObject({ vm: 'db-0', reason: 'Failed', domain: 'a' });
});
