import { expect, test } from 'vitest';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { BudgetStore } from '../../../activities/disruption-budget/budget-store.ts';
import { BudgetTallies } from '../../../activities/disruption-budget/budget-tallies.ts';
import type { BudgetClaim, BudgetStatus } from '../../../api/budgets/budget.ts';
import { conditionOf } from '../../../api/objects.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { aBudget } from '../../api/budgets/budgets.ts';
import { aDb, FleetOf } from '../../decisions/disruption-budget/any-vms/fixtures.ts';
import { aPool, aVmi } from '../../decisions/fixtures/fleets.ts';

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

const AT = '2026-11-23T12:00:00.000Z';

/** A store of one budget over this fleet. */
function storeOf(budget: StoredBudget, fleet: FleetOf): BudgetStore {
  const tallies = { tally: () => fleet.tally(budget), neverWith: () => null } as unknown as BudgetTallies;
  const cache = { vms: fleet.known, vmiOf: fleet.vmiOf, delegated: [], missing: [], namespaces: new Map() };
  return new BudgetStore({} as unknown as KubeClient, cache as unknown as ClusterCache, tallies);
}

test('the status says of no more than 200 VMs where they went down by themselves', () => {
  const fleet = new FleetOf();
  fleet.nodes.set('node-1', { zone: 'a' });
  for (let n = 0; n < 210; n++) fleet.put(aDb(`db-${n}`, { ready: false }), { ready: false, node: 'node-1' });
  fleet.put(aDb('db-nowhere', { ready: false }), { ready: false });
  const budget = aBudget({ topology: { key: 'zone', maxDomains: 1 } });
  const own = { vm: 'db-7', namespace: 'shop', by: 'power/one', reason: 'Restart', at: AT } as const;
  const { claims = [] } = storeOf(budget, fleet)
    .grant(budget, [own], [], new Map())
    .statusOf(undefined) as BudgetStatus;
  expect(claims[0]).toEqual(own);
  expect(claims[1]).toMatchObject({ vm: 'db-0', reason: 'Failed', domain: 'a' });
  expect([claims.length, new Set(claims.map(({ vm }) => vm)).size]).toEqual([200, 200]);
});

test('a claim says where its VM was for as long as that is down, or VMs are missing', () => {
  const fleet = new FleetOf();
  const budget = aBudget({ topology: { key: 'zone', maxDomains: 1 } });
  const claim = { vm: 'web-1', namespace: 'shop', by: 'power/one', reason: 'Restart', at: AT, domain: 'a' } as const;
  const stateOf = (fields: Partial<BudgetClaim> = {}) =>
    storeOf(budget, fleet).active(budget, [{ ...claim, ...fields }])[0]!.state;
  expect(stateOf()).toBe('down');
  const template = { metadata: { labels: { app: 'db' } }, ...aPool().spec.template };
  fleet.owners.push({ ...aPool({ replicas: 1, template }), kind: 'VirtualMachinePool' });
  expect(stateOf()).toBe('lasting');
  fleet.owners.pop();
  fleet.put(aDb('web-1', { ready: false }), { ready: false });
  expect([stateOf(), stateOf({ migration: 1 })]).toEqual(['lasting', 'down']);
});

test.each([
  ['9', '10'],
  ['10', '9'],
])('a VM is claimed as it was seen last, by the caller (version %s) or this worker (%s)', (asked, known) => {
  const fleet = new FleetOf();
  fleet.put(aDb('db-1', { resourceVersion: known }), { resourceVersion: known });
  const vm = aDb('db-1', { resourceVersion: asked });
  const request = { vm, vmi: aVmi(vm, { resourceVersion: asked }), by: 'power/one', reason: 'Restart' } as const;
  const [claim] = storeOf(aBudget(), fleet).grant(aBudget(), [], [request], new Map()).claims;
  expect(claim!.minVersions).toEqual({ vms: '10', vmis: '10' });
});

test('a pool that is served begins to wait anew, though its batch has asked', () => {
  const vm = aDb('db-1');
  const [pool, now] = ['pool/lab/shop/web', new Date().toISOString()];
  const waiting = [{ by: pool, reason: 'Rollout', vms: 1, since: now, seenAt: now } as const];
  const budget = { ...aBudget(), status: { waiting } };
  const request = { vm, vmi: aVmi(vm), by: `${pool}/update/abc/1`, reason: 'Rollout' } as const;
  const { statusOf } = storeOf(budget, new FleetOf([vm])).grant(budget, [], [request], new Map());
  expect(statusOf(undefined)).toMatchObject({ claims: [{ vm: 'db-1' }], waiting: [] });
});
