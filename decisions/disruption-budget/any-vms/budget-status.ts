import type { BudgetClaim, BudgetSpec } from '../../../api/budgets/budget.ts';
import type { BudgetCondition } from '../../../api/budgets/reasons.ts';
import { formatNames } from '../../lib/names.ts';
import type { StoredBudget } from '../stored-budget.ts';
import { allowedBy, countsMigrations, desiredOf, formatBudget, hoursAt, whyFull } from './allowed.ts';
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
  /** VMs that should serve and do not, claimed or not, by `namespace/name`. */
  down: readonly string[];
  /** Namespaces of its VMs whose own workers can't read a cluster-wide budget. */
  delegated: readonly string[];
  /** Another budget of one of its VMs, whose windows are never open while its own are; null if there is none. */
  neverWith: StoredBudget | null;
  /** Whether the labels of nodes are known. */
  knowsNodes: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/** What the status of a budget says, but for its claims; null for a field that is absent. */
export function budgetStatus(budget: StoredBudget, findings: BudgetFindings) {
  const { counts, matched, now } = findings;
  const { spec, metadata, status } = budget;
  const full = fullOf(budget, findings);
  return {
    observedGeneration: metadata.generation ?? 0,
    matched,
    expected: counts.expected,
    available: counts.available,
    migrating: countsMigrations(spec) ? counts.migrating : null,
    disruptionsAllowed: allowedAt(spec, counts, now),
    fullSince: full.status === 'True' ? (status?.fullSince ?? new Date(now).toISOString()) : null,
    conditions: [readyOf(budget, findings), full, closedOf(budget, now), ...stalledOf(budget, findings)],
  };
}

/** How many VMs may go down at this time; null for any number. */
function allowedAt(spec: BudgetSpec, counts: Counts, now: number): number | null {
  const { hold } = hoursAt(spec, now);
  const allowed = hold === 'all' ? 0 : allowedBy(spec, counts);
  return allowed === null || hold === 'nothing' ? null : Math.max(allowed, 0);
}

function readyOf({ metadata, spec }: StoredBudget, { delegated, knowsNodes }: BudgetFindings): BudgetCondition {
  if (spec.topology !== undefined && !knowsNodes)
    return {
      type: 'Ready',
      status: 'False',
      reason: 'NodesUnknown',
      message:
        'the worker cannot read nodes: each VM counts as in a domain of its own, unless its nodeSelector names one',
    };
  if (metadata.namespace === undefined && delegated.length > 0) {
    const message = `workers of single namespaces cannot read it: ${formatNames(delegated)}`;
    return { type: 'Ready', status: 'False', reason: 'NotHeldIn', message };
  }
  return { type: 'Ready', status: 'True', reason: 'Held', message: '' };
}

function fullOf(budget: StoredBudget, findings: BudgetFindings): BudgetCondition {
  const { counts, claims, whyDomains, now } = findings;
  const allowed = allowedBy(budget.spec, counts);
  const isUsedUp = allowed !== null && allowed <= 0;
  const isEmpty = counts.expected + counts.available === 0;
  // Outside of its windows, it is the windows that VMs wait for.
  if (isEmpty || hoursAt(budget.spec, now).hold !== 'limits' || !(isUsedUp || whyDomains !== null))
    return { type: 'Full', status: 'False', reason: 'NotFull', message: '' };
  const why = isUsedUp ? whyFull(budget, counts) : whyDomains!;
  const byDrover = claims.some(({ reason }) => reason !== 'Failed');
  const byItself = neverHasRoom(budget, counts) ? 'NeverRoom' : 'VmsUnavailable';
  const reason = byDrover ? 'Claims' : byItself;
  return {
    type: 'Full',
    status: 'True',
    reason: isUsedUp ? reason : 'Domains',
    message: [why, ...whichOf(budget, findings)].join('; '),
  };
}

/** More VMs than these are not named. */
const MOST_NAMED = 100;

/** Names the VMs that take the room. */
function whichOf({ metadata }: StoredBudget, { claims, down }: BudgetFindings): string[] {
  const claimed = claims.filter(({ reason }) => reason !== 'Failed').map(({ namespace, vm }) => `${namespace}/${vm}`);
  const isClaimed = new Set(claimed);
  const groups = { claimed, 'not available': down.filter((key) => !isClaimed.has(key)) };
  return Object.entries(groups).flatMap(([what, keys]) => {
    const names = metadata.namespace === undefined ? keys : keys.map((key) => key.slice(key.indexOf('/') + 1));
    return names.length === 0 || names.length > MOST_NAMED ? [] : [`${what}: ${formatNames(names)}`];
  });
}

function closedOf({ spec }: StoredBudget, now: number): BudgetCondition {
  const hours = hoursAt(spec, now);
  return hours.hold === 'all'
    ? { type: 'Closed', status: 'True', reason: 'OutsideWindows', message: hours.why }
    : { type: 'Closed', status: 'False', reason: 'NotClosed', message: '' };
}

/** Whether no VM may go down even if all are available. */
export function neverHasRoom({ spec }: StoredBudget, { expected }: Pick<Counts, 'expected'>): boolean {
  const desired = desiredOf(spec, expected);
  return desired !== null && expected > 0 && desired >= expected;
}

type StalledReason = Extract<BudgetCondition, { type: 'Stalled' }>['reason'];

const stalled = (reason: StalledReason, message: string): BudgetCondition[] => [
  { type: 'Stalled', status: 'True', reason, message },
];

/** What only a user can mend. */
function stalledOf(budget: StoredBudget, { counts, matched, neverWith, now }: BudgetFindings): BudgetCondition[] {
  const { metadata, spec } = budget;
  const { expected } = counts;
  const isOld = Date.parse(metadata.creationTimestamp) + NOTHING_YET_MS <= now;
  if (matched + expected === 0)
    return isOld ? stalled('NothingMatches', 'no VM has the labels in its own metadata') : [];
  if (neverHasRoom(budget, counts)) {
    const desired = desiredOf(spec, expected);
    return stalled('NeverRoom', `${desired} of ${expected} VMs must be available, so none may ever go down`);
  }
  if (neverWith === null) return [];
  const message = `its windows and those of ${formatBudget(neverWith)}, which has VMs in common with it, are never open at the same time`;
  return stalled('WindowsNeverMeet', message);
}
