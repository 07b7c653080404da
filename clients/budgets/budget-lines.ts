import type { BudgetSpec } from '../../api/budgets/budget.ts';
import { conditionOf, type Condition } from '../../api/objects.ts';
import { nameBudget } from '../../decisions/disruption-budget/any-vms/allowed.ts';
import { CLAIM_MS } from '../../decisions/disruption-budget/claims.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { selectorText } from '../../decisions/replica-sets/status.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import { ageOf, paint, plain, shortDuration, TONES, type Cell } from '../cli/print.ts';
import { claimIsBy } from '../view/claim-is-for.ts';

/** A VM that should run and is not available. */
export interface DownVm {
  /** `namespace/name`. */
  name: string;
  /** Milliseconds since the epoch; null if unknown. */
  since: number | null;
  /** What it waits for; empty if nothing says. */
  why: string;
}

/** Most VMs, and most waits, that are named. */
const SHOWN = 40;

/** How it stands, in a word, and how good that is: `Pending` before a worker has looked at it. */
export function stateOf({ status }: StoredBudget): { text: string; tone: keyof typeof TONES } {
  const isTrue = (type: string): boolean => conditionOf(status, type)?.status === 'True';
  if (isTrue('Stalled')) return { text: conditionOf(status, 'Stalled')!.reason ?? 'Stalled', tone: 'bad' };
  if (!isTrue('Ready')) return { text: conditionOf(status, 'Ready')?.reason ?? 'Pending', tone: 'warn' };
  if (isTrue('Closed')) return { text: 'Closed', tone: 'busy' };
  return status?.fullSince === undefined ? { text: 'Open', tone: 'good' } : { text: 'Full', tone: 'warn' };
}

export const BUDGET_HEADERS = [
  'NAMESPACE',
  'NAME',
  'STATE',
  'ALLOWED',
  'EXPECTED',
  'AVAILABLE',
  'CLAIMS',
  'WAITING',
  'FULL SINCE',
  'AGE',
];

/** `now`: milliseconds since the epoch. */
export function budgetRow(budget: StoredBudget, now: number): Cell[] {
  const { metadata, status = {} } = budget;
  const { disruptionsAllowed = '<any>', expected = '', available = '', claims = [], waiting = [], fullSince } = status;
  const { text, tone } = stateOf(budget);
  return [
    metadata.namespace ?? '<cluster>',
    metadata.name,
    { text, style: TONES[tone] },
    expected === '' ? '' : disruptionsAllowed,
    expected,
    available,
    // What went down by itself has no claim.
    claims.filter(({ reason }) => reason !== 'Failed').length,
    waiting.length,
    fullSince === undefined ? '<none>' : ageOf(fullSince, now),
    ageOf(metadata.creationTimestamp, now),
  ];
}

/**
 * Describes a budget in a few lines: its room, its limits, which VMs take its room, and what waits. `down`: undefined
 * if the user may not see the VMs.
 */
export function budgetLines(budget: StoredBudget, down: readonly DownVm[] | undefined, now: number): string[] {
  const { claims = [], waiting = [] } = budget.status ?? {};
  const claimed = new Set(claims.map(({ namespace, vm }) => `${namespace}/${vm}`));
  const lines = [
    ...claims.map(({ namespace, vm, by, reason, at, migration, pastBudgets }) => {
      if (reason === 'Failed') return `${namespace}/${vm} has been down by itself for ${ageOf(at, now)}`;
      const what = migration === undefined ? 'may go down' : 'may migrate';
      const past = pastBudgets === true ? ', past this budget' : '';
      const left = Date.parse(at) + CLAIM_MS - now;
      const until = left > 0 ? `given back in ${shortDuration(left)} if it does not` : 'until it is back';
      return `${namespace}/${vm} ${what}: ${reason}, by ${claimIsBy(by)}${past}, claimed ${ageOf(at, now)} ago, ${until}`;
    }),
    ...(down ?? []).filter(({ name }) => !claimed.has(name)).map((vm) => formatDown(vm, now)),
  ];
  return [
    `${paint('bold', plain(nameBudget(budget)))}  ${numbersOf(budget)}`,
    ...[
      `VMs: ${vmsOf(budget)}`,
      `limits: ${limitsOf(budget.spec)}`,
      ...problemsOf(budget, now),
      ...shortened(lines),
      ...(down === undefined ? ['which VMs are not available is not shown: you may not list them'] : []),
      ...shortened(
        waiting.map(
          ({ by, reason, vms, since }) =>
            `waiting for ${ageOf(since, now)}: ${reason} of ${formatVms(vms)}, by ${claimIsBy(by)}`,
        ),
      ),
    ].map((line) => `  ${plain(line)}`),
  ];
}

function numbersOf({ status: { expected, available, disruptionsAllowed: allowed } = {} }: StoredBudget): string {
  if (expected === undefined) return 'waiting for a worker to count its VMs';
  const room = allowed === undefined ? 'any number may go down' : `${allowed} more may go down`;
  return `${available ?? 0} of ${formatVms(expected)} available, ${room}`;
}

function vmsOf({ metadata, spec: { selector, namespaceSelector = {} } }: StoredBudget): string {
  const labels = selectorText(namespaceSelector);
  const namespaces = metadata.namespace ?? (labels === '' ? 'all namespaces' : `namespaces with ${labels}`);
  return `${selectorText(selector) || 'all'}, in ${namespaces}`;
}

function limitsOf({ windows = [], outside, topology, reasons, ...spec }: BudgetSpec): string {
  const numbers = (['maxUnavailable', 'minAvailable', 'maxMigrating'] as const).flatMap((name) =>
    spec[name] === undefined ? [] : [`${name} ${spec[name]}`],
  );
  const domains = topology === undefined ? [] : [`maxDomains ${topology.maxDomains} of ${topology.key}`];
  const times = windows.map(({ cron, duration, timeZone = 'UTC' }) => `${cron} (${timeZone}) for ${duration}`);
  const hours = times.length === 0 ? [] : [`inside of ${times.join(' and ')}; outside: ${outside}`];
  const asked = reasons === undefined ? [] : [`for ${reasons.join(', ')}`];
  return [...numbers, ...domains, ...hours, ...asked].join(', ');
}

/** The conditions that say what holds up VMs, or the budget. */
function problemsOf({ status }: StoredBudget, now: number): string[] {
  const format = ({ type, reason, message, lastTransitionTime: at }: Condition): string =>
    [`${type}${at === undefined ? '' : ` for ${ageOf(at, now)}`}`, reason, message].filter(Boolean).join(': ');
  return (status?.conditions ?? [])
    .filter(({ type, status: value }) => value === (type === 'Ready' ? 'False' : 'True'))
    .map(format);
}

const formatDown = ({ name, since, why }: DownVm, now: number): string =>
  `${name} is not available${since === null ? '' : ` for ${shortDuration(now - since)}`}${why === '' ? '' : `: ${why}`}`;

const shortened = (lines: readonly string[]): string[] =>
  lines.length <= SHOWN ? [...lines] : [...lines.slice(0, SHOWN), `and ${lines.length - SHOWN} more`];
