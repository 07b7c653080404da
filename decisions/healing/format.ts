import { formatNames } from '../lib/names.ts';
import type { NotReplaced } from './find-sick.ts';

const cycleSentence = ({ vm, attempt, why }: { vm: string; attempt: number; why: string }): string =>
  `${vm} (replacement ${attempt}): ${why}`;

/** Says why a VM that is not ready is not replaced. */
export const formatNotReplaced = ({ vm, why, waitsFor }: NotReplaced): string =>
  waitsFor === undefined ? `${vm} is not replaced: ${why}` : `${vm} is sick (${why}): ${waitsFor}`;

/**
 * Healing cycles as the condition `Healing` lists them, one sentence each. All names come first, for readers who see
 * only the beginning.
 */
export function formatCycles(cycles: readonly { vm: string; attempt: number; why: string }[]): string[] {
  const [first, ...rest] = cycles.map(cycleSentence);
  if (first === undefined) return [];
  return rest.length === 0 ? [first] : [`${formatNames(cycles.map(({ vm }) => vm))}: ${first}`, ...rest];
}
