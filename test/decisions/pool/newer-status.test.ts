import { expect, test } from 'vitest';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import { newCycle, noHealing, withBegun, type HealingState } from '../../../decisions/healing/state.ts';
import { containedPlan } from '../../../decisions/pool/contained-plan.ts';
import { withNewestState } from '../../../decisions/pool/newer-status.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { newRolloutState } from '../../../decisions/rollout/state/state.ts';
import { aPool, quiet } from '../fixtures/fleets.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const rollout = newRolloutState('r1', '2026-01-01T00:00:00Z');
const paused = { by: 'ann', at: '2026-01-01T00:00:00Z' };
const sick = { name: 'web-1', uid: 'uid-1', attempt: 1, message: 'it is sick' };
const healing: HealingState = withBegun({ ...noHealing, cycles: [newCycle(sick, NOW)] }, [], NOW);

const inputOf = (status: Partial<PoolStatus>, writes?: number): PoolPlanInput => ({
  ...quiet,
  inProgress: { creating: [], deleting: [] },
  pool: { ...aPool({ replicas: 0 }), status: status as PoolStatus },
  vms: [],
  vmiOf: () => undefined,
  revisions: [],
  rollout,
  healing,
  batches: [],
  batchesNotBefore: 0,
  burst: 250,
  ...(writes === undefined ? {} : { writes }),
});

test("the workflow's state counts, unless the status is newer", () => {
  for (const [written, known] of [
    [4, 4],
    [3, 4],
    [undefined, 0],
    [9, undefined],
  ] as const) {
    const status = { rollout: { ...rollout, paused }, ...(written === undefined ? {} : { writes: written }) };
    const input = inputOf(status, known);
    expect(withNewestState(input)).toEqual({ input, isOverruled: false, cancel: [] });
  }
});

test('a status with more writes than the workflow knows overrules it, and attempts that the status lacks end', () => {
  const input = inputOf({ writes: 5, rollout: { ...rollout, paused } }, 4);
  const { vm, uid, attempt, startedAt } = healing.cycles[0]!;
  const id = { vm, uid, attempt, startedAt };
  expect(withNewestState(input)).toMatchObject({
    isOverruled: true,
    input: { rollout: null, healing: { cycles: [] } },
    cancel: [id],
  });
  const { plan } = containedPlan(input);
  expect(plan).toMatchObject({ isOverruled: true, rollout: { state: { paused } }, healing: { cancel: [id] } });
  const cycles = [{ vm, uid, attempt, startedAt, phase: 'Removing' as const, message: 'it is sick' }];
  const same = inputOf({ writes: 5, healing: { cycles, finished: [] } }, 4);
  expect(withNewestState(same).cancel).toEqual([]);
});
