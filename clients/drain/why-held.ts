import { asks, withNames } from '../../decisions/disruption-budget/any-vms/allowed.ts';
import { domainOf, DownDomains, type LabelsOfNode } from '../../decisions/disruption-budget/any-vms/domains.ts';
import { Places, type TallyOfPlaces } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import type { WhyHeld } from '../../decisions/disruption/held.ts';
import type { VmiOf } from '../../decisions/health/availability.ts';
import { rfc3339 } from '../../decisions/lib/time.ts';
import type { Pacing } from './paced-state.ts';

/** What a command knows of the VMs of budgets. */
export interface BudgetView {
  vmiOf: VmiOf;
  labelsOfNode: LabelsOfNode;
}

/**
 * Answers plans as budgets would, by what their statuses say, as far as a worker has counted their VMs. A VM that may
 * go takes a place: those after it have one less.
 */
export function whyHeldBy({
  budgetsOf,
  vmiOf,
  labelsOfNode,
  now,
}: BudgetView & Pick<Pacing, 'budgetsOf' | 'now'>): WhyHeld {
  const known = new Map<string, Places>();
  const placesIn = (budget: StoredBudget): Places => {
    const { uid } = budget.metadata;
    // Whose turn it is, its status does not tell without the names of workflows.
    const places = known.get(uid) ?? new Places({ ...budget, status: {} }, countedBy(budget, labelsOfNode), [], now);
    known.set(uid, places);
    return places;
  };
  return (vm, act, reason) => {
    const budgets = budgetsOf(vm).filter((one) => one.status?.expected !== undefined && asks(one, reason, now));
    const request = { vm, vmi: vmiOf(vm), by: '', reason, ...(act === 'migrate' && { migration: 1 }) };
    for (const budget of budgets) {
      const refusal = placesIn(budget).whyNot(request);
      if (refusal !== null) return { ...refusal, message: withNames(refusal.message, [budget]) };
    }
    for (const budget of budgets) placesIn(budget).take(request, rfc3339(now));
    return null;
  };
}

/** How the VMs of a budget count by its status, in which claimed ones are not available. */
function countedBy({ spec, status = {} }: StoredBudget, labelsOfNode: LabelsOfNode): TallyOfPlaces {
  const { expected = 0, available = 0, migrating = 0, claims = [] } = status;
  const down = new Map(claims.map(({ namespace, vm, domain = null }) => [`${namespace}/${vm}`, domain]));
  return {
    total: { expected, available, migrating },
    of: (key) => ({ expected: 1, available: down.has(key) ? 0 : 1, migrating: 0 }),
    knows: () => true,
    domains: () => new DownDomains(spec, down, 0),
    domainOf: (vm, vmi) => domainOf(spec, vm, vmi, labelsOfNode),
  };
}
