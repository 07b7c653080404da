import type { Condition } from '../pool/status.ts';

/** Conditions in the status of budgets, and their reasons, as `OPERATION_REASONS` are those of operations. */
export const BUDGET_REASONS = {
  Ready: {
    Held: 'its VMs are counted, and all disruptions by drover ask it',
    NotHeldIn: 'the workers of single namespaces cannot read a cluster-wide budget',
    NodesUnknown: 'the worker cannot read nodes, and so knows no domains',
  },
  Full: {
    Claims: 'VMs that drover is about to disrupt use it up',
    VmsUnavailable: 'VMs that are down, whatever took them down, use it up',
    Domains: 'VMs of as many domains as it allows are down',
    NeverRoom: 'no VM may go down even if all are available',
    NotFull: '',
  },
  Closed: {
    OutsideWindows: 'no disruption begins outside of its windows',
    NotClosed: '',
  },
  Stalled: {
    NothingMatches: 'no VM has the labels that it selects',
    NeverRoom: 'no VM may go down even if all are available',
    WindowsNeverMeet: 'two budgets of the same VM are never open at the same time',
  },
} as const satisfies Record<string, Record<string, string>>;

type Conditions = typeof BUDGET_REASONS;

export type BudgetCondition = Omit<Condition, 'lastTransitionTime' | 'type' | 'reason'> &
  { [Type in keyof Conditions]: { type: Type; reason: keyof Conditions[Type] } }[keyof Conditions];
