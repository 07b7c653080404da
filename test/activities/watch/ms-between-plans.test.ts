import { expect, test } from 'vitest';
import { leastMsBetweenPlans } from '../../../activities/watch/ms-between-plans.ts';
import type { PoolStatus, RolloutStatus } from '../../../api/pool/status.ts';
import { aPool } from '../../decisions/fixtures/fleets.ts';

const rollout: RolloutStatus = {
  revision: 'b',
  startedAt: '2026-11-26T12:00:00Z',
  batches: 1,
  lastBatch: 1,
  step: 0,
  failures: [],
};
const at = rollout.startedAt;
const cycle = { vm: 'web-1', uid: 'u', attempt: 1, phase: 'Waiting', why: 'it crashes', startedAt: at } as const;
const sick = { vm: 'web-2', uid: 'u', why: 'it crashes', waitsFor: 'Budget' };

test.each([
  ['is as it should be', {}, 0],
  ['rolls out', { rollout }, 1_000],
  ['has rolled out', { rollout: { ...rollout, completedAt: at } }, 0],
  ['is healed', { healing: { cycles: [cycle], finished: [] } }, 1_000],
  ['has sick VMs that wait', { healing: { cycles: [], finished: [], notReplaced: [sick] } }, 1_000],
  ['was healed', { healing: { cycles: [], finished: [] } }, 0],
  ['is drained', { draining: [{ reason: 'Evacuating', vms: 1 }] }, 1_000],
  ['was drained', { draining: [] }, 0],
])('an owner that %s', (_what, status, ms) => {
  const pool = { ...aPool({ replicas: 10 }), status: { replicas: 10, ...(status as Partial<PoolStatus>) } };
  expect(leastMsBetweenPlans(pool)).toBe(ms);
});

test('an owner that is gone is told of at once', () => expect(leastMsBetweenPlans(undefined)).toBe(0));
