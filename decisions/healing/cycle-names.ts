import { formatNames } from '../lib/names.ts';

/** The beginning of every sentence about a healing cycle. */
export const cyclePrefix = ({ vm, attempt }: { vm: string; attempt: number }): string =>
  `${vm} (replacement ${attempt}): `;

/**
 * Healing cycles as the condition `Healing` lists them, one sentence each. All names come first, for readers who see
 * only the beginning.
 */
export function formatCycles(cycles: readonly { vm: string; attempt: number; why: string }[]): string[] {
  const [first, ...rest] = cycles.map((cycle) => `${cyclePrefix(cycle)}${cycle.why}`);
  if (first === undefined) return [];
  return rest.length === 0 ? [first] : [`${formatNames(cycles.map(({ vm }) => vm))}: ${first}`, ...rest];
}
