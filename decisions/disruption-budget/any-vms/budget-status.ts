import type { BudgetClaim } from '../../../api/budgets/budget.ts';
import type { BudgetCondition } from '../../../api/budgets/reasons.ts';
import { formatNames } from '../../lib/names.ts';
import type { StoredBudget } from '../stored-budget.ts';
import { allowedBy, countsMigrations, desiredOf, hoursAt, whyFull } from './allowed.ts';
import type { Counts } from './counts.ts';

/** A new budget may be there before its VMs are. */
const NOTHING_YET_MS = 120_000;

interface BudgetFindings {
  /** How all its VMs count, claimed ones included. */
  counts: Counts;
  /** How many VMs it selects. */
  matched: number;
  claims: readonly BudgetClaim[];
  /** Why VMs of further domains must not go down; null if they may. */
  whyDomains: string | null;
  /** Namespaces whose own workers can't read a cluster-wide budget. */
  delegated: readonly string[];
  /** Whether the labels of nodes are known. */
  knowsNodes: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/** What the status of a budget says, but for its claims; null for a field that is absent. */
export function budgetStatus(budget: StoredBudget, findings: BudgetFindings) {
  const { counts, matched, now } = findings;
  const { spec, metadata, status } = budget;
  const allowed = allowedBy(spec, counts);
  const full = fullOf(budget, findings);
  return {
    observedGeneration: metadata.generation ?? 0,
    matched,
    expected: counts.expected,
    available: counts.available,
    migrating: countsMigrations(spec) ? counts.migrating : null,
    disruptionsAllowed: allowed === null ? null : Math.max(allowed, 0),
    fullSince: full.status === 'True' ? (status?.fullSince ?? new Date(now).toISOString()) : null,
    conditions: [readyOf(budget, findings), full, closedOf(budget, now), ...stalledOf(budget, findings)],
  };
}

function readyOf({ metadata, spec }: StoredBudget, { delegated, knowsNodes }: BudgetFindings): BudgetCondition {
  if (spec.topology !== undefined && !knowsNodes)
    return { type: 'Ready', status: 'False', reason: 'NodesUnknown', message: 'the worker cannot read nodes' };
  if (metadata.namespace === undefined && delegated.length > 0) {
    const message = `workers of single namespaces cannot read it: ${formatNames(delegated)}`;
    return { type: 'Ready', status: 'False', reason: 'NotHeldIn', message };
  }
  return { type: 'Ready', status: 'True', reason: 'Held', message: '' };
}

function fullOf(budget: StoredBudget, { counts, claims, whyDomains, now }: BudgetFindings): BudgetCondition {
  const allowed = allowedBy(budget.spec, counts);
  // Outside of its windows, it is the windows that VMs wait for.
  const isHeld = hoursAt(budget.spec, now).hold === 'limits';
  if (isHeld && whyDomains !== null && (allowed === null || allowed > 0))
    return { type: 'Full', status: 'True', reason: 'Domains', message: whyDomains };
  if (allowed === null || allowed > 0 || !isHeld)
    return { type: 'Full', status: 'False', reason: 'NotFull', message: '' };
  const names = claims.map(({ namespace, vm }) =>
    budget.metadata.namespace === undefined ? `${namespace}/${vm}` : vm,
  );
  const held = names.length === 0 ? '' : `; claimed: ${formatNames(names)}`;
  const reason = claims.length > 0 ? 'Claims' : 'DownByThemselves';
  return { type: 'Full', status: 'True', reason, message: `${whyFull(budget, counts)}${held}` };
}

function closedOf({ spec }: StoredBudget, now: number): BudgetCondition {
  const hours = hoursAt(spec, now);
  return hours.hold === 'all'
    ? { type: 'Closed', status: 'True', reason: 'OutsideWindows', message: hours.why }
    : { type: 'Closed', status: 'False', reason: 'InWindow', message: '' };
}

const stalled = (reason: 'NothingMatches' | 'NeverRoom', message: string): BudgetCondition[] => [
  { type: 'Stalled', status: 'True', reason, message },
];

/** What only a user can mend. */
function stalledOf({ metadata, spec }: StoredBudget, { counts, matched, now }: BudgetFindings): BudgetCondition[] {
  const { expected } = counts;
  const isOld = Date.parse(metadata.creationTimestamp) + NOTHING_YET_MS <= now;
  if (matched + expected === 0)
    return isOld ? stalled('NothingMatches', 'no VM has the labels in its own metadata') : [];
  const desired = desiredOf(spec, expected);
  return desired !== null && expected > 0 && desired >= expected
    ? stalled('NeverRoom', `${desired} of ${expected} VMs must be available, so none may ever go down`)
    : [];
}
