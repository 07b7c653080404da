import { MAX_WAITERS, type BudgetWaiter, type DisruptionReason } from '../../../api/budgets/budget.ts';

/** How often what waits says so again, in milliseconds. */
const RENEW_MS = 15_000;
/** What has not said so for this long has lost its turn. */
const LAPSED_MS = 30_000;

/** What asks a budget that has no room. */
export interface Asking {
  reason: DisruptionReason;
  /** How many VMs wait; 0 if none does any more. */
  vms: number;
}

/** Nodes that are drained are waited for; what others merely wish comes last. */
const rankOf = (reason: DisruptionReason): number => ({ Drain: 0, Wish: 2 })[reason as string] ?? 1;

/** A pool and its batches have one turn: a batch acts on what its pool has waited for. */
export const turnOf = (by: string): string => by.replace(/^(pool(?:\/[^/]*){3})\/.*$/, '$1');

/** Those that still wait, in the order in which they get room. */
function stillWaiting(waiting: readonly BudgetWaiter[], now: number): BudgetWaiter[] {
  const left = waiting.filter(({ seenAt }) => Math.abs(now - Date.parse(seenAt)) < LAPSED_MS);
  return left.sort((a, b) => rankOf(a.reason) - rankOf(b.reason) || Date.parse(a.since) - Date.parse(b.since));
}

/** How many others get room before it. */
export function aheadOf(
  waiting: readonly BudgetWaiter[],
  { by, reason }: { by: string; reason: DisruptionReason },
  now: number,
): number {
  const left = stillWaiting(waiting, now);
  const own = left.findIndex((waiter) => waiter.by === turnOf(by));
  return own >= 0 ? own : left.filter((waiter) => rankOf(waiter.reason) <= rankOf(reason)).length;
}

/** Whether the budget need not be told that it waits: it says so, and has said so lately. */
export const isListed = (waiting: readonly BudgetWaiter[], by: string, now: number): boolean =>
  waiting.some((waiter) => waiter.by === turnOf(by) && Math.abs(now - Date.parse(waiter.seenAt)) < RENEW_MS);

/** The list with those that ask in vain, and without those that are served, which begin to wait anew. */
export function withWaiters(
  waiting: readonly BudgetWaiter[],
  asking: ReadonlyMap<string, Asking>,
  served: ReadonlySet<string>,
  now: number,
): BudgetWaiter[] {
  const at = new Date(now).toISOString();
  const left = stillWaiting(waiting, now).filter(({ by }) => !served.has(by) && asking.get(by)?.vms !== 0);
  for (const [by, { reason, vms }] of asking) {
    if (vms === 0) continue;
    const known = left.find((waiter) => waiter.by === by);
    if (known === undefined) left.push({ by, reason, vms, since: at, seenAt: at });
    else {
      const first = rankOf(reason) < rankOf(known.reason) ? reason : known.reason;
      left[left.indexOf(known)] = { ...known, reason: first, vms, seenAt: at };
    }
  }
  return stillWaiting(left, now).slice(0, MAX_WAITERS);
}
