import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import { budgetGauges } from '../../../workers/metrics/budget-gauges.ts';
import { aBudget } from '../../api/budgets/budgets.ts';

const at = '2026-01-02T03:04:05Z';

async function measured(...budgets: StoredBudget[]): Promise<string[]> {
  const registry = new Registry();
  budgetGauges(registry).look(budgets);
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('drover_'));
}

test('a budget reports how its VMs count, its room and what waits', async () => {
  const claims = [{ vm: 'db-1', namespace: 'shop', by: 'run', at, reason: 'Restart' } as const];
  const waiting = [{ by: 'drain', reason: 'Drain', vms: 2, since: at, seenAt: at } as const];
  const counts = { expected: 3, available: 2, migrating: 1, disruptionsAllowed: 0 };
  const labels = 'namespace="shop",budget="db"';
  const status = { ...counts, claims, waiting, fullSince: at };
  expect(await measured({ ...aBudget(), status })).toEqual([
    `drover_budget_vms{${labels},state="Expected"} 3`,
    `drover_budget_vms{${labels},state="Available"} 2`,
    `drover_budget_vms{${labels},state="Migrating"} 1`,
    `drover_budget_vms{${labels},state="Claimed"} 1`,
    `drover_budget_disruptions_allowed{${labels}} 0`,
    `drover_budget_waiting{${labels}} 1`,
    `drover_budget_full{${labels}} 1`,
  ]);
});

test('a budget that no worker has counted reports nothing that it does not know', async () => {
  const labels = 'namespace="shop",budget="db"';
  expect(await measured({ ...aBudget(), status: {} })).toEqual([
    `drover_budget_vms{${labels},state="Claimed"} 0`,
    `drover_budget_waiting{${labels}} 0`,
    `drover_budget_full{${labels}} 0`,
  ]);
});
