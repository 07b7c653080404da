import type { Registry } from 'prom-client';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { StatusGauges, type Measure } from './status-gauges.ts';

const VMS = { expected: 'Expected', available: 'Available', migrating: 'Migrating' } as const;

const OF_BUDGETS: readonly Measure<StoredBudget>[] = [
  {
    name: 'drover_budget_vms',
    help: 'VMs of a disruption budget, by how they count: Expected, Available, Migrating, Claimed.',
    by: ['state'],
    read: ({ status = {} }) => [
      ...(Object.keys(VMS) as (keyof typeof VMS)[]).flatMap((count): [number, { state: string }][] =>
        status[count] === undefined ? [] : [[status[count], { state: VMS[count] }]],
      ),
      [status.claims?.length ?? 0, { state: 'Claimed' }],
    ],
  },
  {
    name: 'drover_budget_disruptions_allowed',
    help: 'How many more VMs of a disruption budget may go down.',
    read: ({ status: { disruptionsAllowed } = {} }) => (disruptionsAllowed === undefined ? [] : [[disruptionsAllowed]]),
  },
  {
    name: 'drover_budget_waiting',
    help: 'What waits for a disruption budget.',
    read: ({ status: { waiting = [] } = {} }) => [[waiting.length]],
  },
  {
    name: 'drover_budget_full',
    help: '1 while no more VMs of a disruption budget may go down.',
    read: ({ status: { fullSince } = {} }) => [[fullSince === undefined ? 0 : 1]],
  },
];

/** State of the disruption budgets over any VMs. A cluster-wide one has no namespace. */
export const budgetGauges = (registry: Registry): StatusGauges<StoredBudget> =>
  new StatusGauges(registry, OF_BUDGETS, ['namespace', 'budget'], ({ metadata: { namespace = '', name } }) => ({
    namespace,
    budget: name,
  }));
