import type { BudgetSpec, DisruptionReason } from '../../../api/budgets/budget.ts';
import { countOf, isZero } from '../../../api/lib/int-or-percent.ts';
import { eitherOf } from '../../../api/lib/listed.ts';
import type { MaintenanceWindow } from '../../../api/pool/pool.ts';
import { whyClosed, windowAt, type WindowState } from '../../lib/maintenance-windows.ts';
import { ACT_WITHIN_MS } from '../claims.ts';
import type { StoredBudget } from '../stored-budget.ts';
import type { Counts } from './counts.ts';

/** Whether a budget asks for migrations on their own. Otherwise, a VM that migrates is not available. */
export const countsMigrations = ({ maxMigrating }: BudgetSpec): boolean => maxMigrating !== undefined;

/** Whether migrations have their own limit, and this is one. */
export const isApart = (spec: BudgetSpec, migration: number | undefined): boolean =>
  migration !== undefined && countsMigrations(spec);

/**
 * Returns how many VMs must stay available; null if the budget does not say. At least one VM may go down, as in a pool,
 * unless the budget says 0: a small percentage would otherwise hold up all updates of a small fleet.
 */
export function desiredOf({ maxUnavailable, minAvailable }: BudgetSpec, expected: number): number | null {
  if (minAvailable !== undefined) return countOf(minAvailable, expected, 0, Math.ceil);
  if (maxUnavailable === undefined) return null;
  return expected - countOf(maxUnavailable, expected, isZero(maxUnavailable) ? 0 : 1);
}

/** How many more VMs may go down: the only place that compares a budget's limit with what is down. Null: any. */
export function allowedBy(spec: BudgetSpec, { expected, available }: Counts): number | null {
  const desired = desiredOf(spec, expected);
  return desired === null ? null : available - desired;
}

/** Reports whether disruptions for this reason ask the budget: all, unless it names some. */
const holdsFor = ({ reasons }: BudgetSpec, reason: DisruptionReason): boolean =>
  reasons === undefined || reasons.includes(reason);

/** What a budget says at a time, by its windows: its limits hold, or it allows anything, or nothing may begin. */
export type Hours = { hold: 'limits' } | { hold: 'nothing' } | { hold: 'all'; opensAt: number | null; why: string };

export function hoursAt(spec: BudgetSpec, now: number): Hours {
  const known = found.get(spec);
  if (known !== undefined && known.since <= now && now < known.until) return known.hours;
  const { windows = [], outside } = spec;
  const state = windowAt(windows, now);
  const until = (state.open ? state.until : state.next) ?? Infinity;
  const hours = hoursIn(state, windows, outside);
  found.set(spec, { hours, since: now, until });
  return hours;
}

/** What was found last of each budget, and for which times: all its VMs ask, and it takes long to find out. */
const found = new WeakMap<BudgetSpec, { hours: Hours; since: number; until: number }>();

function hoursIn(state: WindowState, windows: readonly MaintenanceWindow[], outside: BudgetSpec['outside']): Hours {
  if (state.open) return { hold: 'limits' };
  if (outside === 'Allow') return { hold: 'nothing' };
  return { hold: 'all', opensAt: state.next, why: whyClosed(state, windows, 'spec.windows') };
}

/**
 * Reports whether a disruption for this reason takes a place in the budget: also shortly before its windows open, since
 * its VM may go down once they are.
 */
export const asks = ({ spec }: StoredBudget, reason: DisruptionReason, now: number): boolean =>
  holdsFor(spec, reason) && [now, now + ACT_WITHIN_MS].some((time) => hoursAt(spec, time).hold !== 'nothing');

/** For users who may read the budget. */
export const nameBudget = ({ metadata: { namespace, name } }: StoredBudget): string =>
  namespace === undefined ? `cluster-wide disruption budget ${name}` : `disruption budget ${namespace}/${name}`;

export const CLUSTER_WIDE = 'a cluster-wide disruption budget';

/** What many may read does not name what is cluster-wide: not all of them may read that. */
export const formatBudget = (budget: StoredBudget): string =>
  budget.metadata.namespace === undefined ? CLUSTER_WIDE : nameBudget(budget);

/** Names in such a message the cluster-wide budgets that it may be about, for users who may read these. */
export function withNames(message: string, budgets: readonly StoredBudget[]): string {
  const names = budgets.filter(({ metadata }) => metadata.namespace === undefined).map(nameBudget);
  return names.length === 0 ? message : message.replace(CLUSTER_WIDE, eitherOf(names));
}

/** Says why no VM may go down. */
export function whyFull(budget: StoredBudget, { expected, available }: Counts): string {
  const { minAvailable, maxUnavailable } = budget.spec;
  const limit = minAvailable === undefined ? `maxUnavailable is ${maxUnavailable}` : `minAvailable is ${minAvailable}`;
  return `${formatBudget(budget)} has no room: ${available} of ${expected} ${expected === 1 ? 'VM is' : 'VMs are'} available and not claimed, and ${limit}`;
}

/** Says why no VM may migrate. */
export const whyNoMigration = (budget: StoredBudget, { migrating }: Counts): string =>
  `${formatBudget(budget)} has no room: ${migrating === 1 ? '1 VM migrates' : `${migrating} VMs migrate`}, and maxMigrating is ${budget.spec.maxMigrating}`;

/** Says that others get room first. */
export const whyOwed = (budget: StoredBudget, owed: number): string =>
  `${formatBudget(budget)} has room that ${owed === 1 ? 'another' : `${owed} others`} waited for before`;
