import { expect, test } from 'vitest';
import type { Batch, BatchVm } from '../../../decisions/owners/batch.ts';
import { batchDetails } from '../../../workflows/rollout/batch-details.ts';

const vm = (name: string): BatchVm => ({ name, uid: name, act: 'restart', from: null, wasDown: false });
const vms = ['web-1', 'web-2', 'web-3', 'web-4'].map(vm);
const batch: Batch = { n: 3, revision: '0a1b2c', rollout: '0a1b2c', vms, startedAt: 0 };

test('the Web UI shows for a batch what it shows for any run, what a user looks for first', () => {
  const details = batchDetails(batch, {
    requestedBy: 'ada_b',
    phase: 'RollingOut',
    waiting: [vm('web-4')],
    outcomes: [
      { vm: 'web-1', end: 'Updated' },
      { vm: 'web-2', end: 'Failed', message: 'not ready in time', wasDown: true },
      { vm: 'web-3', end: 'Gone' },
    ],
    counts: { Updated: 1, Failed: 1, Gone: 1 },
  });
  expect(details.split('\n\n')).toEqual([
    '**RollingOut**: 1/4 updated, 1 to go, 1 failed',
    'web-2 failed, and was not ready before: not ready in time',
    'excluded: web-3: it has left the pool, or a user has deleted, started or stopped it meanwhile',
    'to go: web-4',
    String.raw`batch 3 to revision 0a1b2c, requested by ada\_b`,
    'restart: web-1 … web-4',
  ]);
});
