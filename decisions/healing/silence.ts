import { isActive } from '../disruption-budget/availability.ts';
import type { Cycle, HealingState, ToldVerdict } from './state.ts';
import type { HealingView } from './view.ts';

/** A cycle reports at each of its steps; what it waits for in between may take this long. */
const SILENCE_MS = 10 * 60_000;

/**
 * Finds the cycles that have been silent for too long although the next step is theirs, and when the next cycle will
 * have been. If the next step is the pool's or a person's, it may take weeks: the cycle is told when it is done, and a
 * missing workflow shows then.
 */
export function ask(
  { vms, now }: HealingView,
  verdicts: readonly ToldVerdict[],
  state: HealingState,
): { names: string[]; state: HealingState; wakeAt: number | null } {
  const told = new Set(verdicts.map(({ vm }) => vm));
  const active = new Set(vms.filter(isActive).map(({ uid }) => uid));
  const waits = ({ phase, uid }: Cycle): boolean =>
    state.hold === 'All' ||
    phase === 'Provisioning' ||
    (phase === 'Removing' && (state.hold === 'Removals' || !active.has(uid)));
  const silentAt = (cycle: Cycle): number => {
    const { heardAt, nextAt } = cycle;
    if (heardAt === undefined) return now;
    return waits(cycle) ? Infinity : Math.max(heardAt, nextAt === undefined ? 0 : Date.parse(nextAt)) + SILENCE_MS;
  };
  const heard = state.cycles.map((cycle) => (told.has(cycle.vm) ? { ...cycle, heardAt: now } : cycle));
  const names = heard.filter((cycle) => silentAt(cycle) <= now).map(({ vm }) => vm);
  const cycles = heard.map((cycle) => (silentAt(cycle) <= now ? { ...cycle, heardAt: now } : cycle));
  const next = Math.min(...cycles.map(silentAt));
  return { names, state: { ...state, cycles }, wakeAt: next === Infinity ? null : next };
}
