import type { SentenceOfMany } from '../lib/bounded-message.ts';
import { formatNames } from '../lib/names.ts';
import type { NotReplaced } from './find-unhealthy.ts';

const cycleSentence = ({ vm, attempt, message }: { vm: string; attempt: number; message: string }): string =>
  `${vm} (replacement ${attempt}): ${message}`;

/** Says why a VM that is not ready is not replaced. */
export const formatNotReplaced = (one: NotReplaced): string => sentence([one.vm], one);

/** Says why VMs that are not ready are not replaced: VMs for which all is the same share a sentence. */
export const formatAllNotReplaced = (all: readonly NotReplaced[]): SentenceOfMany[] =>
  [...Map.groupBy(all, ({ message, waitsFor }) => JSON.stringify([message, waitsFor])).values()].map((same) => ({
    sentence: sentence(
      same.map(({ vm }) => vm),
      same[0]!,
    ),
    of: same.length,
  }));

function sentence(vms: readonly string[], { message, waitsFor }: NotReplaced): string {
  const are = `${formatNames(vms)} ${vms.length === 1 ? 'is' : 'are'}`;
  return waitsFor === undefined ? `${are} not replaced: ${message}` : `${are} unhealthy (${message}): ${waitsFor}`;
}

/**
 * Healing cycles as the condition `Healing` lists them, one sentence each. All names come first, for readers who see
 * only the beginning.
 */
export function formatCycles(cycles: readonly { vm: string; attempt: number; message: string }[]): string[] {
  const [first, ...rest] = cycles.map(cycleSentence);
  if (first === undefined) return [];
  return rest.length === 0 ? [first] : [`${formatNames(cycles.map(({ vm }) => vm))}: ${first}`, ...rest];
}
