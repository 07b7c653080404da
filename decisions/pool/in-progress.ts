import type { Cycle } from '../healing/state.ts';
import { formatNames } from '../lib/names.ts';
import type { Batch } from '../owners/batch.ts';

export interface InProgressInput {
  /** The reasons of the steps whose activities run now. */
  doing: readonly string[];
  batches: readonly Pick<Batch, 'n' | 'revision' | 'vms'>[];
  cycles: readonly Pick<Cycle, 'vm' | 'attempt' | 'phase' | 'nextAt'>[];
  /** VMs of the pool that run or start, and are not ready yet; undefined before the first plan. */
  starting: number | undefined;
}

/** How many healing cycles are named; the rest are counted. */
const CYCLES_NAMED = 10;

/**
 * Returns what a pool's workflow does or waits for, one sentence each. A batch and a healing cycle are in progress
 * until they end, even while no activity runs.
 */
export function progressSentences({ doing, batches, cycles, starting = 0 }: InProgressInput): string[] {
  const sentences = [...doing, ...batches.map(batchSentence), ...cycles.slice(0, CYCLES_NAMED).map(cycleSentence)];
  if (cycles.length > CYCLES_NAMED) sentences.push(`heal ${cycles.length - CYCLES_NAMED} more VMs`);
  if (sentences.length > 0 || starting === 0) return sentences;
  return [`wait until ${starting === 1 ? '1 VM is' : `${starting} VMs are`} ready`];
}

function batchSentence({ n, revision, vms }: InProgressInput['batches'][number]): string {
  const names = formatNames(vms.map(({ name }) => name));
  return `batch ${n}: bring ${names} to revision ${revision}, and wait until ${vms.length === 1 ? 'it is' : 'they are'} ready`;
}

function cycleSentence({ vm, attempt, phase, nextAt }: InProgressInput['cycles'][number]): string {
  const heal = `heal ${vm} (replacement ${attempt})`;
  switch (phase) {
    case 'Removing':
      return `${heal}: remove the unhealthy VM`;
    case 'Waiting':
      return `${heal}: wait${nextAt === undefined ? '' : ` until ${nextAt}`}, then recreate the VM`;
    case 'Provisioning':
      return `${heal}: recreate the VM, and wait until it is available`;
  }
}
