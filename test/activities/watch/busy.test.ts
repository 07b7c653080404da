import { expect, test } from 'vitest';
import { leastMsBetweenPlans } from '../../../activities/watch/busy.ts';
import type { RolloutStatus } from '../../../api/pool/status.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { aPool } from '../../decisions/fixtures/fleets.ts';

const rollout: RolloutStatus = {
  revision: 'b',
  startedAt: '2026-11-26T12:00:00Z',
  batches: 1,
  lastBatch: 1,
  step: 0,
  failures: [],
};

const poolWith = (wanted: number, replicas: number, state?: RolloutStatus): StoredPool => ({
  ...aPool({ replicas: wanted }),
  status: { replicas, ...(state && { rollout: state }) },
});

test('an owner is planned at once, unless it rolls out', () => {
  expect(leastMsBetweenPlans(undefined)).toBe(0);
  expect(leastMsBetweenPlans(poolWith(1_000, 1_000))).toBe(0);
  expect(leastMsBetweenPlans(poolWith(10, 10, rollout))).toBe(1_000);
  expect(leastMsBetweenPlans(poolWith(10, 10, { ...rollout, completedAt: rollout.startedAt }))).toBe(0);
});
