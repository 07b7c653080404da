import { describe, expect, test } from 'vitest';
import type { VmView } from '../../../decisions/views/vm.ts';
import { BY_USER } from '../fixtures/fleets.ts';
import {
  aBatch,
  aStep,
  at,
  failure,
  fresh,
  held,
  NEW,
  NOW,
  OLD,
  old,
  plan,
  taken,
  rolling,
  type RolloutFields,
} from '../fixtures/rollout-pools.ts';

const MINUTE = 60_000;
const LOST = { ready: false, state: 'Running' } as const;
const startedAt = at(NOW - 30 * MINUTE);
/** An updated VM that was ready, and has not been ready for `minutes`. */
const lost = (minutes: number, fields: Partial<VmView> = {}): VmView =>
  fresh(1, { ...LOST, notReadySince: NOW - minutes * MINUTE, ...fields });
const pool = (vm: VmView, fields: RolloutFields = {}): RolloutFields => ({
  vms: [vm, old(2), old(3)],
  state: rolling({ startedAt }),
  ...fields,
});

describe('a VM that was updated and has lost its readiness', () => {
  test('fails the rollout once it has been down for the deadline', () => {
    const { state, phase, update } = plan(pool(lost(10)));
    expect(phase).toBe('Failed');
    expect(update).toBeNull();
    expect(state.failures).toEqual([
      { vm: 'web-1', message: 'it was updated, and has not been ready for 600 s', at: at(NOW) },
    ]);
    expect(state.halted).toMatchObject({
      kind: 'Failed',
      reason: expect.stringContaining('web-1: it was updated') as string,
    });
  });

  test('is waited for until then, and the pool is checked again at that moment', () => {
    const { state, phase, requeueAt: wakeAt } = plan(pool(lost(4)));
    expect({ phase, requeueAt: wakeAt, failures: state.failures }).toEqual({
      phase: 'RollingOut',
      requeueAt: NOW + 6 * MINUTE,
      failures: [],
    });
  });

  test("is reported with KubeVirt's words", () => {
    const { state } = plan(
      pool(lost(10), { vmis: { 'web-1': { ready: false, whyNotReady: 'the guest agent is gone' } } }),
    );
    expect(state.failures).toMatchObject([
      { message: 'it was updated, and has not been ready for 600 s: the guest agent is gone' },
    ]);
  });

  test('fails a canary that waits for its approval, or that a user has paused', () => {
    const spec = { rollout: { steps: [aStep(1)] } };
    expect(plan(pool(lost(10), { spec })).phase).toBe('Failed');
    expect(plan(pool(lost(10), { state: rolling({ startedAt, paused: { by: 'anna', at: startedAt } }) })).phase).toBe(
      'Failed',
    );
  });

  test('turns the rollout back if the pool asks for that', () => {
    const { phase, target, update } = plan(pool(lost(10), { spec: { rollout: { onFailure: 'Undo' } } }));
    expect({ phase, target }).toEqual({ phase: 'Undoing', target: OLD });
    expect(update?.batch.vms.map(({ name }) => name)).toEqual(['web-1']);
  });

  test('counts as one of the failures that the pool tolerates', () => {
    const { state, phase } = plan(pool(lost(10), { spec: { maxUnavailable: 2, rollout: { maxFailures: 1 } } }));
    expect(phase).toBe('RollingOut');
    expect(state.failures).toHaveLength(1);
  });

  test('is reported once', () => {
    const first = plan(pool(lost(10), { spec: { maxUnavailable: 2, rollout: { maxFailures: 1 } } }));
    const again = plan(
      pool(lost(10), {
        state: first.state,
        now: NOW + MINUTE,
        spec: { maxUnavailable: 2, rollout: { maxFailures: 1 } },
      }),
    );
    expect(again.state.failures).toEqual(first.state.failures);
  });

  test('also fails it if readiness was lost in the second in which the rollout began, since KubeVirt has no fractions of seconds', () => {
    expect(plan(pool(lost(10), { state: rolling({ startedAt: at(NOW - 10 * MINUTE + 900) }) })).phase).toBe('Failed');
  });

  test('has all its time again when a user resumes the rollout', () => {
    const state = rolling({ startedAt, resumedAt: at(NOW - 2 * MINUTE) });
    expect(plan(pool(lost(20), { state }))).toMatchObject({ phase: 'RollingOut', requeueAt: NOW + 8 * MINUTE });
    expect(plan(pool(lost(20), { state, now: NOW + 8 * MINUTE })).phase).toBe('Failed');
  });

  test('ends an undo that cannot be finished because of it', () => {
    const back = old(1, { ...LOST, notReadySince: NOW - 12 * MINUTE });
    const halted = {
      kind: 'Undoing',
      by: 'drover',
      at: at(NOW - 20 * MINUTE),
      reason: 'web-2: not ready in time',
    } as const;
    const state = rolling({ startedAt, halted, failures: [failure('web-2', { at: at(NOW - 21 * MINUTE) })] });
    const { phase, state: after } = plan({ vms: [back, fresh(2), fresh(3)], state });
    expect(phase).toBe('Failed');
    expect(after.halted).toMatchObject({
      kind: 'UndoFailed',
      reason: expect.stringContaining('web-1: it was updated') as string,
    });
  });
});

describe('a VM does not count as a failure of the revision', () => {
  test.each<[string, RolloutFields]>([
    ['that was down before the rollout', pool(lost(40))],
    ['whose node does not answer', pool(lost(10), { vmis: { 'web-1': { ready: false, nodeLost: true } } })],
    ['that finds no room', pool(lost(10, { state: 'ErrorUnschedulable' }))],
    ['that a person has paused', pool(lost(10), { vmis: { 'web-1': { ready: false, pause: BY_USER } } })],
    ['that a person has stopped', pool(lost(10, { runStrategy: 'Halted', hasVmi: false }))],
    ['of the old revision', pool(old(1, { ...LOST, notReadySince: NOW - 10 * MINUTE }))],
    ['that is of a batch', pool(lost(10), { batches: [aBatch([held(lost(10))])] })],
    ['that is being healed', pool(lost(10), { busy: new Set(['web-1']) })],
    ['that healing looks after', pool(lost(10), { isHealed: () => true })],
    [
      'after a rollout is complete',
      { vms: [lost(10), fresh(2), fresh(3)], state: rolling({ startedAt, completedAt: at(NOW - 15 * MINUTE) }) },
    ],
    ['that people are to update', pool(lost(10), { spec: { updateStrategy: { unmanaged: {} } } })],
  ])('%s', (_which, fields) => {
    expect(plan(fields).state.failures).toEqual([]);
  });
});

test('other VMs are still updated beside one that has not been down for so long', () => {
  const planned = plan(pool(lost(4), { spec: { maxUnavailable: 2 } }));
  expect({ target: planned.target, vms: taken(planned).length }).toEqual({ target: NEW, vms: 1 });
});

test('several VMs are reported in the order of their names, in whatever order a cache holds them', () => {
  const down = { ...LOST, notReadySince: NOW - 10 * MINUTE };
  const { state } = plan({ vms: [fresh(10, down), fresh(2, down), old(3)], state: rolling({ startedAt }) });
  expect(state.failures.map(({ vm }) => vm)).toEqual(['web-2', 'web-10']);
  expect(state.halted?.reason).toContain('the last: web-10');
});
