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

const NIGHT = { cron: '0 22 * * *', duration: '8h', timeZone: 'Europe/Zurich' };

/** What a spec may say beside its selector. */
export const TAKEN: readonly object[] = [
  { maxUnavailable: 1 },
  { maxUnavailable: '0%' },
  { minAvailable: 2, topology: { key: 'topology.kubernetes.io/zone', maxDomains: 1 } },
  { maxMigrating: 4 },
  { maxUnavailable: '10%', maxMigrating: 0, reasons: ['Drain', 'Wish'] },
  { topology: { key: 'rack', maxDomains: 2 } },
  { windows: [NIGHT], outside: 'Deny' },
  { maxUnavailable: 1, windows: [NIGHT], outside: 'Allow' },
  { maxUnavailable: 1, selector: {} },
];

const COUNT = 'must be a whole number of at least 0, or a percentage from "0%" to "100%"';
const BOTH = 'must have both windows and outside, or neither';
const NO_LIMIT = 'must have maxUnavailable, minAvailable, maxMigrating or topology, or windows with outside: Deny';

/** What it may not, and a part of what both drover and the API server say to that. */
export const REFUSED: readonly (readonly [spec: object, fault: string])[] = [
  [{}, NO_LIMIT],
  [{ windows: [NIGHT], outside: 'Allow' }, NO_LIMIT],
  [{ maxUnavailable: 1, minAvailable: 1 }, 'may have either maxUnavailable or minAvailable, not both'],
  [{ maxUnavailable: 1, windows: [NIGHT] }, BOTH],
  [{ maxUnavailable: 1, outside: 'Allow' }, BOTH],
  [{ outside: 'Deny', windows: [] }, 'spec.windows'],
  [{ maxUnavailable: '101%' }, COUNT],
  [{ minAvailable: -1 }, COUNT],
  [{ maxUnavailable: 1, reasons: [] }, 'spec.reasons'],
  [{ topology: { key: 'zone', maxDomains: 0 } }, 'spec.topology.maxDomains'],
  [{ topology: { key: 'a zone', maxDomains: 1 } }, 'must be a label key such as app or example.com/app'],
];
