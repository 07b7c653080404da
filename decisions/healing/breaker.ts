import { CAPS } from '../../api/lib/caps.ts';
import { countOf } from '../../api/lib/int-or-percent.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import { blocksUntil, leavingVms } from '../owners/removal-limit.ts';
import type { HealingState } from './state.ts';
import { hasEverRun, type HealingView } from './view.ts';

const BEGUN_AT_ONCE = 50;
/**
 * In a small pool a percentage would mean one VM or none, but two that fail at once are not yet a sign of a common
 * cause.
 */
const LEAST_SHARE = 2;

/**
 * Returns why no more VMs may be removed if too many are unhealthy or being replaced, else null. While no VM of the
 * pool has ever run, one is tried all the same.
 */
export function breaker(view: HealingView, unhealthy: number): string | null {
  if (!hasEverRun(view)) return null;
  const { rules, pool } = view;
  const most = countOf(
    rules.maxUnhealthy,
    pool.spec.replicas,
    typeof rules.maxUnhealthy === 'number' ? 1 : LEAST_SHARE,
  );
  return unhealthy > most
    ? `${unhealthy} VMs are unhealthy or being replaced, more than ${most} (${rules.maxUnhealthy}): they probably have a common cause`
    : null;
}

/** How many more cycles may begin, what holds back the next one, and until when at most. */
export function healingCapacity(
  view: HealingView,
  { cycles, finished }: HealingState,
): { count: number; full: string; requeueAt: number | null } {
  const { pool, vms, vmiOf, rules, burst, now } = view;
  const inCycles = new Set(cycles.map(({ vm }) => vm));
  const blockingUntil = leavingVms(vms, vmiOf)
    .filter(({ name }) => !inCycles.has(name))
    .flatMap((one) => blocksUntil(one, now) ?? []);
  const limits = [
    {
      count: Math.min(Math.min(burst, CAPS.healingCycles) - blockingUntil.length - cycles.length, BEGUN_AT_ONCE),
      full: 'others are in progress',
    },
    {
      count: CAPS.healingEnds - new Set([...cycles, ...finished].map(({ vm }) => vm)).size,
      full: `${CAPS.healingEnds} others were healed or given up lately, or skipped`,
    },
  ];
  if (rules.maxConcurrent !== null)
    limits.push({
      count: countOf(rules.maxConcurrent, pool.spec.replicas, 1) - cycles.length,
      full: 'others are healed first',
    });
  // If no VM has ever run, the fault is probably common to all: only one is tried.
  if (!hasEverRun(view))
    limits.push({ count: 1 - cycles.length, full: 'no VM of the pool has run yet, and one is tried first' });
  const least = limits.reduce((a, b) => (b.count < a.count ? b : a));
  return { ...least, count: Math.max(least.count, 0), requeueAt: blockingUntil.reduce<number | null>(earlier, null) };
}
