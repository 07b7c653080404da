import { expect, test } from 'vitest';
import { leastPlanIntervalMs } from '../../../activities/watch/plan-interval.ts';
import type { PoolStatus, RolloutStatus } from '../../../api/pool/status.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
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
const cycle = { vm: 'web-1', uid: 'u', attempt: 1, phase: 'Waiting', message: 'it crashes', startedAt: at } as const;
const sick = { vm: 'web-2', uid: 'u', message: 'it crashes', waitsFor: 'Budget' };

test.each([
  ['is as it should be', {}, 0],
  ['rolls out', { rollout }, 1_500],
  ['has rolled out', { rollout: { ...rollout, completedAt: at } }, 0],
  ['is healed as it rolls out', { rollout, healing: { cycles: [cycle], finished: [] } }, 1_000],
  ['is healed', { healing: { cycles: [cycle], finished: [] } }, 1_000],
  ['has sick VMs that wait', { healing: { cycles: [], finished: [], notReplaced: [sick] } }, 1_000],
  ['was healed', { healing: { cycles: [], finished: [] } }, 0],
  ['is drained', { draining: [{ reason: 'Evacuating', vms: 1 }] }, 1_000],
  ['was drained', { draining: [] }, 0],
])('an owner that %s', (_what, status, ms) => {
  const pool = aPool({ replicas: 10 });
  const seen = { replicas: 10, observedGeneration: pool.metadata.generation };
  expect(leastPlanIntervalMs({ ...pool, status: { ...seen, ...(status as Partial<PoolStatus>) } as PoolStatus })).toBe(
    ms,
  );
});

test.each([
  [1_000, 1_500],
  [4_000, 4_000],
  [30_000, 10_000],
])('a pool of %i VMs that rolls out is planned every %i ms', (replicas, ms) => {
  const pool = aPool({ replicas });
  const status = { replicas, rollout };
  expect(leastPlanIntervalMs({ ...pool, status })).toBe(ms);
});

test('an owner that is gone is told of at once', () => expect(leastPlanIntervalMs(undefined)).toBe(0));

test('a pool counts as rolling out from the moment that its template has changed', () => {
  const pool = aPool({ replicas: 10 });
  const updateRevision = revisionOf(poolTemplate(pool.spec));
  const status = { replicas: 10, observedGeneration: 1, updateRevision, rollout: { ...rollout, completedAt: at } };
  const changed = { ...pool, metadata: { ...pool.metadata, generation: 2 }, status };
  expect(leastPlanIntervalMs(changed)).toBe(0);
  const another = { ...changed.spec, template: { spec: { ...changed.spec.template.spec, runStrategy: 'Halted' } } };
  expect(leastPlanIntervalMs({ ...changed, spec: another })).toBe(1_500);
});
