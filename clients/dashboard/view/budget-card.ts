import { conditionOf } from '../../../api/objects.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import { budgetLines, stateOf } from '../../budgets/budget-lines.ts';
import type { BudgetCard, Need } from '../contract/fleet.ts';
import { needOf, unseen, UNSEEN_MS, type NeedDraft } from './need.ts';

/** `now`: milliseconds since the epoch. */
export function budgetCard(budget: StoredBudget, now: number): BudgetCard {
  const { metadata, status } = budget;
  const { namespace = null, name } = metadata;
  const { text, tone } = stateOf(budget);
  // Cards of VMs say which of them are down.
  const [numbers = '', ...lines] = budgetLines(budget, [], now);
  return {
    id: `vmdb/${namespace === null ? name : `${namespace}/${name}`}`,
    namespace,
    name,
    state: text,
    tone,
    numbers: numbers.slice(numbers.indexOf('  ')).trim(),
    lines: lines.map((line) => line.trim()),
    fullSince: status?.fullSince ?? null,
  };
}

/** How long a budget may have no room, in milliseconds, as its alert has it. */
const FULL_MS = 3_600_000;

export function budgetNeeds(
  { metadata, status }: StoredBudget,
  { id, state, tone, fullSince }: BudgetCard,
  now: number,
): Need[] {
  const { namespace = null, name, creationTimestamp } = metadata;
  const kind = namespace === null ? 'ClusterVirtualMachineDisruptionBudget' : 'VirtualMachineDisruptionBudget';
  const what = `${namespace === null ? 'cluster-wide ' : ''}disruption budget ${name}`;
  const command = `drover budgets ${namespace === null ? `cvmdb/${name}` : name}`;
  const found = (sentence: string, since: string | null): NeedDraft => ({ kind: 'late', sentence, since, command });
  const stalled = conditionOf(status, 'Stalled');
  const drafts = [
    status?.conditions === undefined && now - Date.parse(creationTimestamp) >= UNSEEN_MS
      ? unseen(what, namespace, creationTimestamp)
      : null,
    tone === 'bad'
      ? found(`${what} needs to be changed: ${stalled?.message ?? state}`, stalled?.lastTransitionTime ?? null)
      : null,
    tone !== 'bad' && fullSince !== null && now - Date.parse(fullSince) >= FULL_MS
      ? found(`${what} has no room: what is to disrupt its VMs waits`, fullSince)
      : null,
  ];
  return drafts.filter((draft) => draft !== null).map((draft) => needOf(id, { kind, namespace, name }, draft));
}
