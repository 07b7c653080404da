import { expect, test } from 'vitest';
import type { BudgetClaim, BudgetStatus } from '../../../api/budgets/budget.ts';
import { BUDGET_HEADERS, budgetLines, budgetRow } from '../../../clients/budgets/budget-lines.ts';
import { table } from '../../../clients/cli/print.ts';
import { aBudget } from '../../api/budgets/budgets.ts';

const NOW = Date.parse('2026-01-01T10:00:00Z');
const ago = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString();
const claim = (vm: string, more: Partial<BudgetClaim> = {}): BudgetClaim => ({
  vm,
  namespace: 'shop',
  by: 'pool/c/shop/web/update/abc/1',
  reason: 'Rollout',
  at: ago(12),
  ...more,
});
const budgetWith = (status: BudgetStatus, metadata: object = {}) => {
  const budget = aBudget({ minAvailable: 2, topology: { key: 'zone', maxDomains: 1 } });
  return { ...budget, metadata: { ...budget.metadata, ...metadata }, status };
};
const READY = { type: 'Ready', status: 'True', reason: 'Held' } as const;
const FULL: BudgetStatus = {
  expected: 4,
  available: 2,
  disruptionsAllowed: 0,
  fullSince: ago(720),
  conditions: [
    READY,
    { type: 'Full', status: 'True', reason: 'Claims', message: 'so it is', lastTransitionTime: ago(720) },
  ],
};

test('a budget that is full tells who holds what, since when and until when, and who waits', () => {
  const claims = [
    claim('web-1'),
    claim('db-2', { by: 'operation/c/-/all/uid', reason: 'Migrate', migration: 1, at: ago(3600) }),
    claim('db-3', { by: '', reason: 'Failed', at: ago(600) }),
  ];
  const waiting = [
    { by: 'operation/c/shop/drain-x/uid', reason: 'Drain', vms: 2, since: ago(180), seenAt: ago(1) } as const,
  ];
  const down = [
    { name: 'shop/db-3', since: NOW - 600_000, why: 'claimed, and not told twice' },
    { name: 'shop/db-1', since: NOW - 180_000, why: 'its VMI has no pod yet' },
  ];
  expect(budgetLines(budgetWith({ ...FULL, claims, waiting }), down, NOW)).toEqual([
    'disruption budget shop/db  2 of 4 VMs available, 0 more may go down',
    '  VMs: app=db, in shop',
    '  limits: minAvailable 2, maxDomains 1 of zone',
    '  Full for 12m: Claims: so it is',
    '  shop/web-1 may go down: Rollout, by pool shop/web, claimed 12s ago, given back in 48s if it does not',
    '  shop/db-2 may migrate: Migrate, by operation all, claimed 60m ago, until it is back',
    '  shop/db-3 has been down by itself for 10m',
    '  shop/db-1 is not available for 3m: its VMI has no pod yet',
    '  waiting for 3m: Drain of 2 VMs, by operation shop/drain-x',
  ]);
});

test('a budget that no worker has counted, or whose VMs the user may not see, says so', () => {
  expect(budgetLines(budgetWith({ observedGeneration: 0 }), undefined, NOW)).toEqual([
    'disruption budget shop/db  waiting for a worker to count its VMs',
    '  VMs: app=db, in shop',
    '  limits: minAvailable 2, maxDomains 1 of zone',
    '  which VMs are not available is not shown: you may not list them',
  ]);
});

test('the hours and the reasons of a budget are told with its limits', () => {
  const windows = [{ cron: '0 8 * * 1-5', duration: '10h', timeZone: 'Europe/Zurich' }];
  const budget = aBudget({ windows, outside: 'Deny', reasons: ['Drain', 'Wish'] });
  expect(budgetLines(budget, [], NOW)[2]).toBe(
    '  limits: inside of 0 8 * * 1-5 (Europe/Zurich) for 10h; outside: Deny, for Drain, Wish',
  );
});

test('a cluster-wide budget says in which namespaces', () => {
  const { metadata, spec } = budgetWith({}, { namespace: undefined });
  const vms = (more: object): string => budgetLines({ metadata, spec: { ...spec, ...more } }, [], NOW)[1]!;
  const namespaceSelector = { matchLabels: { team: 'data' } };
  expect(vms({ selector: {}, namespaceSelector })).toBe('  VMs: all, in namespaces with team=data');
  expect(vms({})).toBe('  VMs: app=db, in all namespaces');
});

test('more VMs than fit on a screen are counted', () => {
  const down = Array.from({ length: 45 }, (_, index) => ({ name: `shop/db-${index}`, since: null, why: '' }));
  const lines = budgetLines(budgetWith(FULL), down, NOW);
  expect(lines).toHaveLength(4 + 41);
  expect(lines.at(-1)).toBe('  and 5 more');
});

test('the list has a line for each budget, with its state in a word', () => {
  const closed = { type: 'Closed', status: 'True', reason: 'OutsideWindows' } as const;
  const stalled = { type: 'Stalled', status: 'True', reason: 'NeverRoom' } as const;
  const rows = [
    budgetWith({ ...FULL, claims: [claim('web-1'), claim('web-2', { reason: 'Failed' })] }),
    budgetWith({ expected: 4, available: 4, disruptionsAllowed: 2, conditions: [READY] }, { namespace: undefined }),
    budgetWith({ expected: 4, available: 4, conditions: [READY, closed] }),
    budgetWith({ expected: 2, available: 2, disruptionsAllowed: 0, conditions: [READY, stalled] }),
    budgetWith({ observedGeneration: 0 }),
  ].map((budget) => budgetRow(budget, NOW).map((cell) => (typeof cell === 'object' ? cell.text : cell)));
  expect(table(BUDGET_HEADERS, rows)).toEqual([
    'NAMESPACE   NAME   STATE       ALLOWED   EXPECTED   AVAILABLE   CLAIMS   WAITING   FULL SINCE   AGE',
    'shop        db     Full        0         4          2           1        0         12m          10h',
    '<cluster>   db     Open        2         4          4           0        0         <none>       10h',
    'shop        db     Closed      <any>     4          4           0        0         <none>       10h',
    'shop        db     NeverRoom   0         2          2           0        0         <none>       10h',
    'shop        db     Pending                                      0        0         <none>       10h',
  ]);
});
