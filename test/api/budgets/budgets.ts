import { VirtualMachineDisruptionBudget, type BudgetClaim, type BudgetSpec } from '../../../api/budgets/budget.ts';
import { API_VERSION } from '../../../api/labels-and-annotations.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';

/** A manifest of a budget for one VM at a time of all that have the label, with other fields of its spec. */
export const budgetManifest = (spec: object = {}) => ({
  apiVersion: API_VERSION,
  kind: 'VirtualMachineDisruptionBudget',
  metadata: { name: 'db', namespace: 'shop' },
  spec: { selector: { matchLabels: { app: 'db' } }, ...spec },
});

/** The same as the API server has it, with these claims. */
export const aBudget = (
  spec: Omit<BudgetSpec, 'selector'> = { maxUnavailable: 1 },
  claims: BudgetClaim[] = [],
): StoredBudget => {
  const { metadata, spec: checked, ...rest } = VirtualMachineDisruptionBudget.parse(budgetManifest(spec));
  return {
    ...rest,
    metadata: {
      ...metadata,
      name: 'db',
      uid: 'budget-db',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: checked,
    status: { claims },
  };
};
