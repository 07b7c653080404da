import { expect, test } from 'vitest';
import { BatchCache } from '../../../activities/rollout/batch-cache.ts';
import type { Batch } from '../../../decisions/owners/batch.ts';

const aBatch = (n: number, startedAt = n): Batch => ({
  n,
  revision: 'b',
  rollout: 'b',
  vms: [{ name: `web-${n}`, uid: `uid-${n}`, act: 'restart', from: 'a', wasDown: false }],
  startedAt,
});
const brief = ({ n, revision, rollout, startedAt }: Batch): Omit<Batch, 'vms'> => ({
  n,
  revision,
  rollout,
  startedAt,
});

test('the VMs of a batch are sent once, and known to all later plans of that run', () => {
  const told = new BatchCache();
  expect(told.of('run', [aBatch(1)])).toEqual([aBatch(1)]);
  expect(told.of('run', [brief(aBatch(1)), aBatch(2)])).toEqual([aBatch(1), aBatch(2)]);
  expect(told.of('run', [{ ...brief(aBatch(1)), superseded: true }, brief(aBatch(2))])).toEqual([
    { ...aBatch(1), superseded: true },
    aBatch(2),
  ]);
});

test('a worker asks for the VMs of this run that it was not sent, or no longer has', () => {
  const told = new BatchCache();
  told.of('run', [aBatch(1), aBatch(2)]);
  expect(told.of('another', [brief(aBatch(1))])).toBeNull();
  expect(told.of('run', [brief(aBatch(2))])).toEqual([aBatch(2)]);
  expect(told.of('run', [brief(aBatch(1)), brief(aBatch(2))])).toBeNull();
  // The number was used before Temporal was put back.
  expect(told.of('run', [brief(aBatch(2, 7))])).toBeNull();
});

test('a worker keeps what it was sent by the runs that asked last', () => {
  const told = new BatchCache();
  told.of('first', [aBatch(1)]);
  for (let n = 0; n < 499; n++) told.of(`run ${n}`, [aBatch(1)]);
  expect(told.of('first', [brief(aBatch(1))])).toEqual([aBatch(1)]);
  told.of('one more', [aBatch(1)]);
  expect(told.of('run 0', [brief(aBatch(1))])).toBeNull();
  expect(told.of('first', [brief(aBatch(1))])).toEqual([aBatch(1)]);
});
