import { formatNames } from '../lib/names.ts';

/** With which the words about a healing cycle begin. */
export const cyclePrefix = ({ vm, attempt }: { vm: string; attempt: number }): string =>
  `${vm} (replacement ${attempt}): `;

/**
 * Healing cycles as the condition `Healing` begins with them, a sentence each: the names of all first, for whoever sees
 * only its beginning.
 */
export function formatCycles(cycles: readonly { vm: string; attempt: number; why: string }[]): string[] {
  const [first, ...rest] = cycles.map((cycle) => `${cyclePrefix(cycle)}${cycle.why}`);
  if (first === undefined) return [];
  return rest.length === 0 ? [first] : [`${formatNames(cycles.map(({ vm }) => vm))}: ${first}`, ...rest];
}
