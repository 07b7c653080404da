import { describe, expect, test } from 'vitest';
import type { BatchVm } from '../../../decisions/owners/batch.ts';
import { progressSentences, type InProgressInput } from '../../../decisions/pool/in-progress.ts';

const idle: InProgressInput = { doing: [], batches: [], cycles: [], starting: 0 };
const vm = (name: string): BatchVm => ({ name, uid: name, act: 'restart', from: 'old', wasDown: false });
const cycle = (number: number) => ({ vm: `web-${number}`, attempt: 1, phase: 'Removing' as const });

describe('what a pool has in progress', () => {
  test('is empty for a pool that only waits for changes', () => {
    expect(progressSentences(idle)).toEqual([]);
  });

  test('contains a batch until it ends, also while no activity runs', () => {
    expect(
      progressSentences({ ...idle, batches: [{ n: 3, revision: 'new', vms: [vm('web-1'), vm('web-2')] }] }),
    ).toEqual(['batch 3: bring web-1, web-2 to revision new, and wait until they are ready']);
  });

  test('contains a healing cycle with what it waits for', () => {
    const waiting = { vm: 'web-3', attempt: 2, phase: 'Waiting' as const, nextAt: '2026-01-01T00:00:40Z' };
    expect(progressSentences({ ...idle, doing: ['create web-4'], cycles: [waiting] })).toEqual([
      'create web-4',
      'heal web-3 (replacement 2): wait until 2026-01-01T00:00:40Z, then recreate the VM',
    ]);
  });

  test('has ten healing cycles, and the count of the others', () => {
    const sentences = progressSentences({
      ...idle,
      cycles: Array.from({ length: 13 }, (_, index) => cycle(index + 1)),
    });
    expect(sentences).toHaveLength(11);
    expect(sentences.at(-1)).toBe('heal 3 more VMs');
  });

  test('is the wait for VMs to come up if there is nothing else', () => {
    expect(progressSentences({ ...idle, starting: 2 })).toEqual(['wait until 2 VMs are ready']);
    expect(progressSentences({ ...idle, doing: ['create web-4'], starting: 2 })).toEqual(['create web-4']);
  });
});
