import { describe, expect, test } from 'vitest';
import {
  BudgetStatus,
  ClusterVirtualMachineDisruptionBudget,
  DisruptionReason,
  MAX_WAITERS,
  VirtualMachineDisruptionBudget,
  type BudgetWaiter,
} from '../../../api/budgets/budget.ts';
import { BUDGET_REASONS, type BudgetCondition } from '../../../api/budgets/reasons.ts';
import { aBudget, budgetManifest, REFUSED, TAKEN } from './budgets.ts';

const faultsOf = (spec: object): string[] =>
  (VirtualMachineDisruptionBudget.safeParse(budgetManifest(spec)).error?.issues ?? []).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );

describe('the spec of a budget', () => {
  test.each(TAKEN)('may be %j', (spec) => {
    expect(faultsOf(spec)).toEqual([]);
  });

  test.each([
    ...REFUSED,
    [{ maxUnavailable: 1, reasons: ['Healing'] }, 'spec.reasons.0: '],
    [{ maxUnavailable: 1, selector: undefined }, 'spec.selector: '],
    [{ maxUnavailable: 1, namespaceSelector: {} }, 'spec: '],
  ] as const)('is not %j', (spec, fault) => {
    expect(faultsOf(spec).filter((one) => one.includes(fault))).not.toEqual([]);
  });

  test('selects namespaces only if it is cluster-wide', () => {
    const spec = { selector: {}, namespaceSelector: { matchLabels: { team: 'shop' } }, maxUnavailable: '5%' };
    const manifest = { ...budgetManifest(), kind: 'ClusterVirtualMachineDisruptionBudget', spec };
    expect(ClusterVirtualMachineDisruptionBudget.safeParse(manifest).success).toBe(true);
  });
});

test('the status of a budget holds claims, waiters and conditions', () => {
  const at = '2026-01-01T00:00:00Z';
  const [claim] = aBudget({ maxUnavailable: 1 }, [
    { vm: 'db-1', namespace: 'shop', by: 'pool/c/shop/db', at, reason: 'Rollout', domain: 'zone-a' },
  ]).status!.claims!;
  const waiter: BudgetWaiter = { by: 'drain', reason: 'Drain', vms: 2, since: at, seenAt: at };
  const conditions: BudgetCondition[] = [{ type: 'Full', status: 'True', reason: 'Claims' }];
  const waiting = Array.from({ length: MAX_WAITERS }, (_, index) => ({ ...waiter, by: `drain-${index}` }));
  const status = { claims: [claim], waiting, conditions };
  expect(BudgetStatus.parse(status)).toEqual(status);
  expect(BudgetStatus.safeParse({ ...status, waiting: [...waiting, waiter] }).success).toBe(false);
  expect(Object.keys(BUDGET_REASONS.Full)).toContain('Domains');
  expect(DisruptionReason.options).not.toContain('Failed');
});
