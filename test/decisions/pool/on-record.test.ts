import { expect, test } from 'vitest';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import { newCycle, runOf, noHealing, withBegun, type HealingState } from '../../../decisions/healing/state.ts';
import { containedPlan } from '../../../decisions/pool/contained-plan.ts';
import { onRecord, RESTORED, unrecorded, type GivenInput } from '../../../decisions/pool/on-record.ts';
import { halted, newRolloutState } from '../../../decisions/rollout/state/state.ts';
import { aPool, given, quiet } from '../fixtures/fleets.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const at = new Date(NOW).toISOString();
const rollout = newRolloutState('r1', at);
const paused = { by: 'ann', at };
const sick = { name: 'web-1', uid: 'uid-1', attempt: 1, message: 'it is sick' };
const attempt = { unhealthyVm: { name: 'web-1' } } as Parameters<typeof withBegun>[1][number];
const healing: HealingState = withBegun({ ...noHealing, cycles: [newCycle(sick, NOW)] }, [attempt], NOW);
const { run: _, ...cycle } = healing.cycles[0]!;
const batch = { n: 1, revision: 'r1', rollout: 'r1', vms: [], startedAt: NOW };

const inputOf = (status: Partial<PoolStatus>, more: Partial<GivenInput> = {}): GivenInput => ({
  ...given({ ...quiet, pool: { ...aPool({ replicas: 0 }), status: status as PoolStatus }, vms: [], burst: 250 }),
  now: NOW,
  ...more,
});

test('the status is the record, whatever the workflow has seen before, and has been told since', () => {
  for (const writes of [undefined, 3, 4, 5]) {
    const told = { rollout: [{ kind: 'resume' as const }], healing: [] };
    const more = { ...(writes !== undefined && { writes }), told };
    expect(onRecord(inputOf({ writes: 5, rollout: { ...rollout, paused } }, more)).input.rollout).toEqual({
      ...rollout,
      paused,
    });
  }
});

test('what a batch and an attempt have told is taken into account until it is on record', () => {
  const failures = [{ vm: 'web-1', message: 'late', at }];
  const id = { vm: 'web-1', uid: 'uid-1', attempt: 1, startedAt: cycle.startedAt };
  const removed = { keptDisks: true, nextAt: at };
  const told = {
    rollout: [{ kind: 'fail' as const, revision: 'r1', failures }],
    healing: [{ kind: 'removed' as const, id, removed }],
  };
  const given = inputOf(
    { writes: 5, rollout, healing: { cycles: [cycle], finished: [] } },
    { told, healing: runOf(healing) },
  );
  expect(onRecord(given).input).toMatchObject({
    rollout: { failures },
    healing: { cycles: [{ phase: 'Waiting', nextAt: at, run: { state: 'Running' } }] },
  });
  const spec = { ...given.pool.spec };
  Object.defineProperty(spec, 'maxUnavailable', { get: () => expect.unreachable() });
  const stalled = containedPlan({ ...given, pool: { ...given.pool, spec } });
  expect(stalled.plan.status).toMatchObject({ rollout: { failures }, healing: { cycles: [{ phase: 'Waiting' }] } });
});

test('a pause by a signal that comes before the first plan of a pool is not lost', () => {
  const told = { rollout: [{ kind: 'pause' as const, by: 'kim', at }], healing: [] };
  expect(containedPlan(inputOf({}, { told })).plan.rollout.state.paused).toMatchObject({ by: 'kim', bySignal: true });
});

test('a batch and an attempt that are not on record are over', () => {
  const input = inputOf({ writes: 5, rollout }, { batches: [batch], healing: runOf(healing) });
  const { uid, startedAt } = cycle;
  const over = { rollout: { lost: [1] }, healing: { cancel: [{ vm: 'web-1', uid, attempt: 1, startedAt }] } };
  expect(containedPlan(input).plan).toMatchObject(over);
  expect(onRecord(input).input.batches).toEqual([]);
  const recorded = { writes: 5, rollout: { ...rollout, inFlight: [1] }, healing: { cycles: [cycle], finished: [] } };
  expect(onRecord(inputOf(recorded, { batches: [batch], healing: runOf(healing) }))).toMatchObject({
    lost: [],
    cancel: [],
    input: { batches: [batch] },
  });
});

test('what a restored API server may have forgotten to hold is paused, unless it is over', () => {
  const running = { writes: 4, rollout, healing: { cycles: [cycle], finished: [] } };
  const by = { by: 'drover', at, reason: RESTORED };
  expect(onRecord(inputOf(running, { writes: 5 })).input).toMatchObject({
    rollout: { paused: by },
    healing: { paused: by },
  });
  expect(onRecord(inputOf({ ...running, rollout: { ...rollout, paused } }, { writes: 5 })).input).toMatchObject({
    rollout: { paused },
  });
  for (const [status, writes] of [
    [running, 4],
    [{ writes: 4, rollout: { ...rollout, completedAt: at } }, 5],
    [{ writes: 4, rollout: halted(rollout, 'Aborted', {}, at) }, 5],
    [{}, 5],
  ] as const) {
    const { input } = onRecord(inputOf(status, { writes }));
    expect([input.rollout?.paused, input.healing.paused]).toEqual([undefined, undefined]);
  }
});

test('a plan that is not on record begins no batch and no attempt, and ends none', () => {
  const { plan } = containedPlan(inputOf({ writes: 5, rollout }, { batches: [batch], healing: runOf(healing) }));
  const update = { kind: 'update', batch, reason: 'why' } as never;
  const remove = { kind: 'removeFinalizer', reason: 'why' } as const;
  expect(unrecorded({ ...plan, steps: [update, remove] })).toMatchObject({
    steps: [remove],
    rollout: { superseded: [], lost: [] },
    healing: { begin: [], cancel: [], events: [] },
  });
});
