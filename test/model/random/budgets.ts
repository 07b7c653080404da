import fc from 'fast-check';
import type { BudgetSpec } from '../../../api/budgets/budget.ts';
import { POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import type { OperationAction } from '../../../api/operations/operation.ts';
import { seen, seldom } from './specs.ts';

export const ZONE = 'topology.kubernetes.io/zone';
/** The label by which budgets select VMs that are in no pool. */
export const APP = { app: 'db' };

/** The budgets that there may be, by name: `budgets/budgets.ts` says where. */
export const BUDGETS = ['a', 'b', 'all-of-them', 'bank-of-vms'] as const;

export interface BudgetScenario {
  budget: number;
  spec: BudgetSpec;
}

/** About budgets and the VMs under them. Budgets, VMs and nodes are given by any number. */
export type BudgetHappening =
  /** It is made, or changed. */
  | { what: 'budget'; budget: number; spec: BudgetSpec }
  | { what: 'budget again'; budget: number; spec: BudgetSpec }
  | { what: 'no budget'; budget: number }
  | { what: 'app'; lone: number; isOn: boolean }
  | { what: 'drain'; node: number }
  /** Of all VMs of a namespace, or of both. */
  | { what: 'operation'; action: OperationAction; atOnce: number; namespace: number | null };

const anySelector = fc.constantFrom<BudgetSpec['selector']>(
  {},
  {},
  { matchLabels: APP },
  { matchLabels: { [POOL_LABEL]: 'web' } },
  { matchExpressions: [{ key: POOL_LABEL, operator: 'Exists' }] },
);
const anyLimit: fc.Arbitrary<Partial<BudgetSpec>> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ maxUnavailable: fc.constantFrom<number | string>(1, 1, 2, '25%', '40%') }) },
  { weight: 1, arbitrary: fc.constant({ maxUnavailable: 0 }) },
  { weight: 3, arbitrary: fc.record({ minAvailable: fc.constantFrom<number | string>(1, 3, 5, '60%', '80%') }) },
  { weight: 1, arbitrary: fc.constant({ maxMigrating: 1 }) },
);
const anyWindows: fc.Arbitrary<Partial<BudgetSpec>> = fc.record({
  windows: fc.constant([{ cron: '*/5 * * * *', duration: '2m' }]),
  outside: fc.constantFrom<'Deny' | 'Allow'>('Deny', 'Allow'),
});
const anyReasons = fc.constantFrom<NonNullable<BudgetSpec['reasons']>>(
  ['Drain', 'Wish'],
  ['Rollout', 'Restart', 'MachineType'],
);

const anyBudget: fc.Arbitrary<BudgetSpec> = fc
  .record({
    selector: anySelector,
    limit: anyLimit,
    maxMigrating: seldom(fc.integer({ min: 1, max: 2 })),
    topology: seldom(fc.constant({ key: ZONE, maxDomains: 1 })),
    windows: seldom(anyWindows, 5),
    reasons: seldom(anyReasons, 7),
  })
  .map(({ selector, limit, windows, ...more }) => ({ selector, ...seen(more), ...limit, ...windows }));

const budget = fc.nat(BUDGETS.length - 1);

export const someBudgets: fc.Arbitrary<BudgetScenario[]> = fc.uniqueArray(fc.record({ budget, spec: anyBudget }), {
  maxLength: 3,
  selector: (one) => one.budget,
});

export const budgets: fc.Arbitrary<BudgetHappening> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('operation'),
      action: fc.constantFrom<OperationAction[]>('Restart', 'Restart', 'Migrate', 'Stop', 'Start'),
      atOnce: fc.integer({ min: 1, max: 4 }),
      namespace: fc.option(fc.nat(1)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('budget', 'budget again'), budget, spec: anyBudget }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('no budget'), budget }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('app'), lone: fc.nat(9), isOn: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('drain'), node: fc.nat(2) }) },
);
