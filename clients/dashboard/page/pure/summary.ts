import type { OwnerCard, VmState } from '../../contract/fleet.ts';
import type { Counted } from './rows.ts';

interface Summary {
  owners: number;
  vms: number;
  ready: number;
  /** As their owners want them. */
  stopped: number;
  /** As of one card, for one bar of all. */
  total: Counted;
}

/** Adds up cards. */
export function summaryOf(cards: readonly OwnerCard[]): Summary {
  const total: Counted = { counts: {}, desired: 0, current: 0 };
  for (const { counts, desired, current } of cards) {
    for (const [state, count] of Object.entries(counts) as [VmState, number][])
      total.counts[state] = (total.counts[state] ?? 0) + count;
    // A surplus here makes up for nothing that is missing there.
    total.desired += Math.max(desired, current);
    total.current += current;
  }
  return {
    owners: cards.filter(({ kind }) => kind !== null).length,
    vms: Object.values(total.counts).reduce((sum, count) => sum + count, 0),
    ready: total.counts.R ?? 0,
    stopped: total.counts.O ?? 0,
    total,
  };
}
