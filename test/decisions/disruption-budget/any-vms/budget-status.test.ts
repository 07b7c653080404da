import { expect, test } from 'vitest';
import type { BudgetClaim, BudgetSpec } from '../../../../api/budgets/budget.ts';
import { budgetStatus } from '../../../../decisions/disruption-budget/any-vms/budget-status.ts';
import type { StoredBudget } from '../../../../decisions/disruption-budget/stored-budget.ts';
import { budgetOf } from './fixtures.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const NIGHT = [{ cron: '0 3 * * *', duration: '1h' }];
const claim = (vm: string, reason: BudgetClaim['reason'] = 'Restart'): BudgetClaim => ({
  vm,
  namespace: 'shop',
  by: reason === 'Failed' ? '' : 'operation/c/shop/restart/uid',
  reason,
  at: '2026-11-23T11:00:00Z',
});

type Findings = Parameters<typeof budgetStatus>[1];

/** The status of a budget over three VMs that are available, but for `findings`. */
const statusOf = (budget: StoredBudget, findings: Partial<Findings> = {}) =>
  budgetStatus(budget, {
    counts: { expected: 3, available: 3, migrating: 0 },
    matched: 3,
    claims: [],
    whyDomains: null,
    down: [],
    delegated: [],
    neverWith: null,
    knowsNodes: true,
    now: NOW,
    ...findings,
  });

function conditionsOf(...of: Parameters<typeof statusOf>) {
  return Object.fromEntries(statusOf(...of).conditions.map(({ type, ...condition }) => [type, condition]));
}
const counted = (available: number, expected = 3) => ({ counts: { expected, available, migrating: 0 } });
const clusterWide = (spec: Partial<BudgetSpec> = { maxUnavailable: 1 }): StoredBudget =>
  budgetOf(spec, { namespace: undefined as never });

test('a budget that is full says why, and names the VMs that take its room', () => {
  const budget = budgetOf({ maxUnavailable: 1 });
  const full =
    'disruption budget shop/db has no room: 2 of 3 VMs are available and not claimed, and maxUnavailable is 1';
  expect(conditionsOf(budget)['Full']).toMatchObject({ status: 'False', reason: 'NotFull' });
  expect(conditionsOf(budget, { ...counted(2), claims: [claim('db-1')], down: ['shop/db-1'] })['Full']).toEqual({
    status: 'True',
    reason: 'Claims',
    message: `${full}; claimed: db-1`,
  });
  expect(conditionsOf(budget, { ...counted(2), down: ['shop/db-2'] })['Full']).toEqual({
    status: 'True',
    reason: 'VmsUnavailable',
    message: `${full}; not available: db-2`,
  });
  const both = { ...counted(1), claims: [claim('db-1')], down: ['lab/db-1', 'shop/db-2'] };
  expect(conditionsOf(clusterWide(), both)['Full']!.message).toContain(
    '; claimed: shop/db-1; not available: lab/db-1, shop/db-2',
  );
  const many = Array.from({ length: 101 }, (_, n) => `shop/db-${n}`);
  expect(conditionsOf(budget, { ...counted(2), down: many })['Full']!.message).toBe(full);
});

test('a budget is full since it was first found so, and not while it is closed', () => {
  const fullSince = '2026-11-23T11:00:00Z';
  const since = (budget: StoredBudget, available: number) =>
    statusOf({ ...budget, status: { fullSince } }, counted(available)).fullSince;
  const budget = budgetOf({ maxUnavailable: 1 });
  expect([since(budget, 2), since(budget, 3)]).toEqual([fullSince, null]);
  expect(since(budgetOf({ ...budget.spec, windows: NIGHT, outside: 'Deny' }), 2)).toBe(null);
  expect(statusOf(budget, counted(2)).fullSince).toBe(new Date(NOW).toISOString());
});

test.each<[string, Partial<BudgetSpec>, number | null, number | null]>([
  ['without windows', { maxUnavailable: 1 }, 1, 1],
  ['with Allow', { maxUnavailable: 1, windows: NIGHT, outside: 'Allow' }, null, 1],
  ['with Deny', { maxUnavailable: 1, windows: NIGHT, outside: 'Deny' }, 0, 1],
  ['with no limit inside', { windows: NIGHT, outside: 'Deny' }, 0, null],
  ['with fewer VMs than there must be', { minAvailable: 4 }, 0, 0],
])('how many more VMs may go down is said for the time: %s', (_what, spec, outside, inside) => {
  expect(statusOf(budgetOf(spec)).disruptionsAllowed).toBe(outside);
  expect(statusOf(budgetOf(spec), { now: Date.parse('2026-11-23T03:30:00Z') }).disruptionsAllowed).toBe(inside);
});

test('a record of where a VM went down by itself is not a claim', () => {
  const budget = budgetOf({ maxUnavailable: 1, topology: { key: 'zone', maxDomains: 1 } });
  const failed = { claims: [claim('db-2', 'Failed')], down: ['shop/db-2'], whyDomains: 'so it is' };
  expect(conditionsOf(budget, { ...counted(2), ...failed })['Full']).toMatchObject({
    reason: 'VmsUnavailable',
    message: expect.stringMatching(/; not available: db-2$/) as string,
  });
  expect(conditionsOf(budgetOf({ ...budget.spec, maxUnavailable: 3 }), { ...counted(2), ...failed })['Full']).toEqual({
    status: 'True',
    reason: 'Domains',
    message: 'so it is; not available: db-2',
  });
});

test('a budget that never has room says so, also while it is full, and one without VMs that run is not full', () => {
  for (const spec of [{ maxUnavailable: 0 }, { minAvailable: 3 }, { minAvailable: '100%' }]) {
    const { Full, Stalled } = conditionsOf(budgetOf(spec));
    expect([Full!.reason, Stalled!.reason]).toEqual(['NeverRoom', 'NeverRoom']);
  }
  const { Full, Stalled } = conditionsOf(budgetOf({ minAvailable: 2 }), counted(0, 0));
  expect([Full!.status, Stalled]).toEqual(['False', undefined]);
  expect(conditionsOf(budgetOf({ minAvailable: 2 }), counted(1, 0))['Full']!.status).toBe('True');
  expect(conditionsOf(budgetOf({ minAvailable: 2 }), { ...counted(0), matched: 0 })['Stalled']).toBeUndefined();
  expect(conditionsOf(budgetOf({ minAvailable: 2 }), { ...counted(0, 0), matched: 0 })).toMatchObject({
    Full: { status: 'False' },
    Stalled: { reason: 'NothingMatches' },
  });
});

test('a budget says where it is not held, and what the worker cannot read for it', () => {
  expect(conditionsOf(clusterWide(), { delegated: ['bank', 'lab'] })['Ready']).toEqual({
    status: 'False',
    reason: 'NotHeldIn',
    message: 'workers of single namespaces cannot read it: bank, lab',
  });
  expect(conditionsOf(budgetOf({ maxUnavailable: 1 }), { delegated: ['shop'] })['Ready']!.status).toBe('True');
  const zones = { topology: { key: 'zone', maxDomains: 1 } };
  expect(conditionsOf(budgetOf(zones), { knowsNodes: false })['Ready']).toMatchObject({
    status: 'False',
    reason: 'NodesUnknown',
  });
  expect(conditionsOf(budgetOf({ maxUnavailable: 1 }), { knowsNodes: false })['Ready']!.status).toBe('True');
});

test('a budget whose windows never meet those of another names it, but for a cluster-wide one', () => {
  const night = { windows: [{ cron: '0 3 * * *', duration: '1h' }], outside: 'Deny' as const };
  const other = budgetOf(night, { name: 'day', uid: 'day' });
  expect(conditionsOf(budgetOf(night), { neverWith: other })['Stalled']).toEqual({
    status: 'True',
    reason: 'WindowsNeverMeet',
    message:
      'its windows and those of disruption budget shop/day, which has VMs in common with it, are never open at the same time',
  });
  expect(conditionsOf(budgetOf(night), { neverWith: clusterWide(night) })['Stalled']!.message).toContain(
    'those of a cluster-wide disruption budget,',
  );
  expect(conditionsOf(budgetOf(night))['Stalled']).toBeUndefined();
});
