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
import { aBudget, budgetManifest } from './budgets.ts';

const NIGHT = { cron: '0 22 * * *', duration: '8h', timeZone: 'Europe/Zurich' };

const faultsOf = (spec: object): string[] =>
  (VirtualMachineDisruptionBudget.safeParse(budgetManifest(spec)).error?.issues ?? []).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );

describe('the spec of a budget', () => {
  test.each([
    { maxUnavailable: 1 },
    { maxUnavailable: '0%' },
    { minAvailable: 2, topology: { key: 'topology.kubernetes.io/zone', maxDomains: 1 } },
    { maxMigrating: 4 },
    { maxUnavailable: '10%', maxMigrating: 0, reasons: ['Drain', 'Wish'] },
    { topology: { key: 'rack', maxDomains: 2 } },
    { windows: [NIGHT], outside: 'Deny' },
    { maxUnavailable: 1, windows: [NIGHT], outside: 'Allow' },
  ])('may be %j', (spec) => {
    expect(faultsOf(spec)).toEqual([]);
  });

  test.each([
    [{}, 'must have maxUnavailable, minAvailable, maxMigrating or topology, or windows with outside: Deny'],
    [{ maxUnavailable: 1, minAvailable: 1 }, 'may have either maxUnavailable or minAvailable, not both'],
    [{ maxUnavailable: 1, windows: [NIGHT] }, 'must have both windows and outside, or neither'],
    [{ maxUnavailable: 1, outside: 'Allow' }, 'must have both windows and outside, or neither'],
    [{ windows: [NIGHT], outside: 'Allow' }, 'must have maxUnavailable, minAvailable'],
    [{ outside: 'Deny', windows: [] }, 'spec.windows: '],
    [{ maxUnavailable: '101%' }, 'must be a whole number of at least 0, or a percentage from "0%" to "100%"'],
    [{ maxUnavailable: 1, reasons: [] }, 'spec.reasons: '],
    [{ maxUnavailable: 1, reasons: ['Healing'] }, 'spec.reasons.0: '],
    [{ topology: { key: 'zone', maxDomains: 0 } }, 'spec.topology.maxDomains: '],
    [{ maxUnavailable: 1, selector: undefined }, 'spec.selector: '],
    [{ maxUnavailable: 1, namespaceSelector: {} }, 'spec: '],
  ])('is not %j', (spec, fault) => {
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
