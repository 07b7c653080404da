import { describe, expect, test } from 'vitest';
import type { PoolSpec, RolloutStatus, RolloutStep } from '../../../api/pool/pool.ts';
import type { Batch } from '../../../decisions/owners/batch.ts';
import type { RolloutPhase } from '../../../decisions/rollout/plan.ts';
import { newRolloutState, withFailures } from '../../../decisions/rollout/state/state.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { BY_USER, SNAPSHOT } from '../fixtures/fleets.ts';
import {
  aBatch,
  aStep,
  aTemplate,
  at,
  batched,
  DOWN,
  failure,
  fresh,
  HALTED,
  held,
  NEW,
  NEW_TEMPLATE,
  NOW,
  OLD,
  old,
  OLD_TEMPLATE,
  plan,
  rolling,
  taken,
  waits,
  type RolloutFields,
} from '../fixtures/rollout-pools.ts';

const MINUTE = 60_000;
const all = (count: number, make: (number: number) => VmView = old): VmView[] =>
  Array.from({ length: count }, (_, index) => make(index + 1));
const oldest: Partial<PoolSpec> = { updateStrategy: { proactive: { selectionPolicy: { basePolicy: 'Oldest' } } } };

describe('a rollout', () => {
  test('begins with a new template, and keeps only a pause of the last rollout', () => {
    const paused = { by: 'anna', at: at(NOW - MINUTE) };
    const last: RolloutStatus = {
      ...newRolloutState(OLD, at(0)),
      lastBatch: 7,
      step: 2,
      failures: [failure('web-1')],
      halted: { kind: 'Failed', by: 'drover', at: at(0) },
      paused,
    };
    const { state } = plan({ vms: all(4), state: last });
    expect(state).toEqual({ ...newRolloutState(NEW, at(NOW)), lastBatch: 7, paused });
  });

  test('is over at once if no VM needs it', () => {
    expect(plan({ vms: all(3, fresh) })).toMatchObject({
      phase: 'Complete',
      current: NEW,
      target: NEW,
      updated: 3,
      update: null,
      requeueAt: null,
      waits: [],
      state: { completedAt: at(NOW) },
    });
    expect(plan({ vms: [] })).toMatchObject({ phase: 'Complete', current: NEW });
  });

  test('keeps only failures that still stand when it is over', () => {
    const failures = ['web-1', 'web-2', 'web-3'].map((name) => failure(name));
    const fields = {
      vms: [fresh(1), fresh(2, DOWN)],
      spec: { rollout: { maxFailures: 3 } },
      state: rolling({ failures }),
    };
    expect(plan(fields).state).toMatchObject({ completedAt: at(NOW), failures: [failure('web-2')] });
    const open = plan({ ...fields, vms: [...fields.vms, old(4)] });
    // As long as it is under way, all count to maxFailures.
    expect(open.state.failures).toEqual(failures);
    expect(open.openFailures).toEqual([failure('web-2')]);
  });

  test('begins with a batch that says what it does, and who asked for it', () => {
    const { update, state } = plan({
      vms: all(2),
      spec: { ...oldest, maxUnavailable: 1, rollout: { minReadySeconds: 5, progressDeadlineSeconds: 60 } },
      state: rolling({ batches: 2, lastBatch: 5 }),
    });
    expect(update).toEqual({
      batch: {
        n: 6,
        revision: NEW,
        rollout: NEW,
        vms: [1, 2].map((number) => ({
          name: `web-${number}`,
          uid: `uid-of-web-${number}`,
          act: 'restart',
          from: OLD,
          wasDown: false,
        })),
      },
      requestedBy: null,
      minReadyMs: 5_000,
      deadlineMs: MINUTE,
      mayFail: 0,
      reason: `update web-1, web-2 to ${NEW} (restart)`,
    });
    expect(state).toMatchObject({ batches: 3, lastBatch: 6 });
  });
});

describe('a batch', () => {
  test('takes as many VMs as the budget holds, in the order of the policy', () => {
    expect(taken(plan({ vms: all(8), spec: oldest }))).toEqual(['web-1', 'web-2']);
    expect(taken(plan({ vms: all(8), spec: { ...oldest, maxUnavailable: 3 } }))).toEqual(['web-1', 'web-2', 'web-3']);
    const byLabel: Partial<PoolSpec> = {
      updateStrategy: {
        proactive: {
          selectionPolicy: {
            orderedPolicies: [{ labelSelector: { matchLabels: { tier: 'spare' } } }],
            basePolicy: 'Oldest',
          },
        },
      },
    };
    expect(taken(plan({ vms: [...all(4), old(5, { labels: { tier: 'spare' } })], spec: byLabel }))).toEqual(['web-5']);
  });

  test('counts every unavailable VM against the budget, whatever the cause', () => {
    expect(taken(plan({ vms: [...all(6), fresh(7, DOWN), fresh(8)], spec: oldest }))).toEqual(['web-1']);
    const full = plan({ vms: [...all(6), fresh(7, DOWN), fresh(8, DOWN)] });
    expect(full).toMatchObject({ update: null, requeueAt: NOW + 540_000, phase: 'RollingOut' });
    expect(waits(full)).toEqual(['2 VMs are unavailable (web-7, web-8), and maxUnavailable allows 2']);
  });

  test('takes broken VMs first, since they cost nothing more, however many they are', () => {
    const broken = [2, 3, 4].map((number) => old(number, DOWN));
    expect(
      taken(plan({ vms: [old(1), ...broken, ...[5, 6, 7, 8].map((number) => old(number))], spec: oldest })),
    ).toEqual(['web-2', 'web-3', 'web-4']);
    expect(
      taken(
        plan({
          vms: [old(1), old(2, DOWN), old(3), old(4), ...all(4).map((_, index) => old(index + 5))],
          spec: oldest,
        }),
      ),
    ).toEqual(['web-2', 'web-1']);
  });

  test('records for each VM whether it was down', () => {
    const { update } = plan({ vms: [old(1, DOWN), old(2)], spec: { ...oldest, maxUnavailable: 2 } });
    expect(update?.batch.vms.map(({ name, wasDown }) => [name, wasDown])).toEqual([
      ['web-1', true],
      ['web-2', false],
    ]);
  });

  test('records for each VM that is only written to whether its VMI runs', () => {
    const { update } = plan({
      vms: [old(1), old(2, HALTED)],
      spec: { ...oldest, template: aTemplate({ color: 'blue' }) },
    });
    expect(update?.batch.vms.map(({ name, act, runs }) => [name, act, runs])).toEqual([
      ['web-1', 'write', true],
      ['web-2', 'write', undefined],
    ]);
  });

  test('updates stopped VMs without using the budget', () => {
    const vms = [old(1), old(2, HALTED), old(3, HALTED), fresh(4, DOWN)];
    expect(taken(plan({ vms, spec: { ...oldest, maxUnavailable: 1 } }))).toEqual(['web-2', 'web-3']);
  });

  test('takes VMs that need no restart without the budget', () => {
    const color = { template: aTemplate({ color: 'blue' }) };
    expect(taken(plan({ vms: [...all(3), old(4, DOWN)], spec: { ...oldest, ...color } }))).toHaveLength(4);
  });

  test('takes no VM that another batch, or other work of drover, uses', () => {
    const batches = [aBatch([held(old(1))])];
    expect(taken(plan({ vms: all(8), spec: oldest, batches, busy: new Set(['web-2']) }))).toEqual(['web-3']);
  });

  test('includes all other VMs too, whose turns come one after the other, up to 1,000', () => {
    expect(batched(plan({ vms: all(8), spec: oldest }))).toEqual(all(8).map(({ name }) => name));
    expect(batched(plan({ vms: all(1_100), spec: oldest }))).toHaveLength(1_000);
  });

  test('includes VMs that are replaced only as the budget has room for them', () => {
    const [before, after] = [aTemplate({ disk: '2Gi' }), aTemplate({ disk: '1Gi' })];
    const vms = all(8).map((vm) => ({ ...vm, revision: revisionOf(before) }));
    const updateStrategy = { proactive: { disruption: 'Replace' as const } };
    const planned = plan({ vms, kept: [before], spec: { template: after, maxUnavailable: 2, updateStrategy } });
    expect(planned.update?.batch.vms.map(({ act }) => act)).toEqual(['replace', 'replace']);
  });

  test('is followed by another only once the turns of its VMs have come, except for VMs that serve nobody', () => {
    const queued = [3, 4].map((number) => ({ ...held(old(number)), revision: NEW }));
    const batches = [aBatch([])];
    expect(plan({ vms: all(8), spec: oldest, batches, queued }).update).toBeNull();
    expect(batched(plan({ vms: [...all(7), old(8, DOWN)], spec: oldest, batches, queued }))).toEqual(['web-8']);
    expect(batched(plan({ vms: all(8), spec: oldest, batches, queued: [] }))).toHaveLength(8);
  });

  test('is followed by another once its VMs are available, even if one is late', () => {
    const vms = [
      old(1, { revision: NEW, ...DOWN }),
      ...all(9)
        .slice(1)
        .map((vm) => ({ ...vm, revision: NEW })),
      old(10),
    ];
    const batches = [aBatch(vms.slice(0, 9).map((vm) => held(vm)))];
    expect(taken(plan({ vms, spec: { maxUnavailable: 2 }, batches }))).toEqual(['web-10']);
  });

  test('never includes VMs that are deleted, or that leave', () => {
    expect(
      taken(
        plan({ vms: [old(1, { deleting: true }), old(2, { removing: true }), old(3)], spec: { maxUnavailable: 3 } }),
      ),
    ).toEqual(['web-3']);
    expect(plan({ vms: all(4), deleted: true }).update).toBeNull();
  });
});

describe('a batch does not begin', () => {
  const windows = [{ cron: '0 22 * * *', duration: '2h' }];
  test.each<[string, RolloutFields, RolloutPhase, string[], number | null]>([
    ['while spec.paused', { spec: { paused: true } }, 'Paused', [], null],
    ['while a person has paused it', { state: rolling({ paused: { by: 'anna', at: at(NOW) } }) }, 'Paused', [], null],
    [
      'after an abort',
      { state: rolling({ halted: { kind: 'Aborted', by: 'anna', at: at(NOW) } }) },
      'Aborted',
      [],
      null,
    ],
    [
      'after a failure',
      { state: rolling({ halted: { kind: 'Failed', by: 'drover', at: at(NOW) } }) },
      'Failed',
      [],
      null,
    ],
    [
      'after an undo that failed',
      { state: rolling({ halted: { kind: 'UndoFailed', by: 'drover', at: at(NOW) } }) },
      'Failed',
      [],
      null,
    ],
    [
      'outside of the windows',
      { spec: { rollout: { windows } } },
      'Waiting',
      ['the next window opens at 2026-01-01T22:00:00.000Z'],
      Date.UTC(2026, 0, 1, 22),
    ],
    [
      'if no window can be read',
      { spec: { rollout: { windows: [{ cron: '0 22 * * *', duration: '2 hours' }] } } },
      'Waiting',
      ['no further window opens, spec.rollout.windows[0]: "2 hours" is not a duration such as 30s, 10m or 1h30m'],
      null,
    ],
    ['before its time', { notBefore: NOW + 500 }, 'RollingOut', [`it continues at ${at(NOW + 500)}`], NOW + 500],
  ])('%s', (_when, fields, phase, words, wakeAt) => {
    const planned = plan({ vms: all(4), ...fields });
    expect(planned).toMatchObject({ update: null, phase, requeueAt: wakeAt });
    expect(waits(planned)).toEqual(words);
  });

  test('a batch begins inside a window', () => {
    expect(taken(plan({ vms: all(4), spec: { rollout: { windows } }, now: Date.UTC(2026, 0, 1, 23) }))).toHaveLength(1);
  });

  test('a rollout with nothing to take waits for no window', () => {
    expect(plan({ vms: all(4, fresh), spec: { rollout: { windows } } })).toMatchObject({
      phase: 'Complete',
      requeueAt: null,
      waits: [],
    });
    expect(plan({ vms: [...all(3), fresh(4, DOWN)], spec: { rollout: { windows } } })).toMatchObject({
      phase: 'RollingOut',
      requeueAt: NOW + 540_000,
    });
  });
});

describe('batches in progress', () => {
  const one = aBatch([held(old(1))]);

  test('keep a rollout from completing', () => {
    expect(plan({ vms: all(4, fresh), batches: [one] })).toMatchObject({ phase: 'RollingOut', current: OLD });
  });

  test('are reported when a newer revision takes their place', () => {
    const batches = [
      aBatch([held(old(1))], { n: 1, revision: 'older' }),
      aBatch([held(old(2))], { n: 2, revision: 'older', superseded: true }),
      aBatch([held(old(3))], { n: 3 }),
    ];
    expect(plan({ vms: all(8), batches }).superseded).toEqual([1]);
  });

  test('have failed for VMs that they have deleted and not made again, if they were ended from outside', () => {
    const replaced = [held(old(1), 'replace'), held(old(2), 'replace'), held(old(3), 'restart')];
    const batch = aBatch(replaced);
    const ended = (fields: Partial<Batch>, vms = [old(2, { deleting: true }), fresh(3, DOWN)]) =>
      plan({ vms, batches: [{ ...batch, ...fields }], spec: { replicas: 3, rollout: { maxFailures: 1 } } });
    const message = 'its batch was ended before it was made again';
    const failures = ['web-1', 'web-2'].map((vm) => ({ vm, message, at: at(NOW) }));
    expect(ended({ endedOutside: true })).toMatchObject({ lost: [1], state: { failures, halted: { kind: 'Failed' } } });
    expect(ended({ startedAt: NOW - 25 * MINUTE })).toMatchObject({ lost: [1], state: { failures } });
    expect(ended({}).state.failures).toEqual([]);
    expect(ended({ endedOutside: true, superseded: true }).state.failures).toEqual([]);
    expect(ended({ endedOutside: true }, [fresh(1), fresh(2), fresh(3, DOWN)]).state.failures).toEqual([]);
  });

  test('are lost once they have been silent for a quarter of an hour beyond their deadline', () => {
    const lostAt = one.startedAt + 25 * MINUTE;
    expect(plan({ vms: all(4), batches: [one], now: lostAt - 1 }).lost).toEqual([]);
    expect(plan({ vms: all(4), batches: [one], now: lostAt }).lost).toEqual([1]);
  });

  test('have their VMs checked again once these have been ready for long enough', () => {
    const spec = { rollout: { minReadySeconds: 10 } };
    const vmis = { 'web-1': { readySince: NOW - 4_000 } };
    expect(plan({ vms: [fresh(1), old(2)], spec, vmis, batches: [one] })).toMatchObject({
      update: null,
      requeueAt: NOW + 6_000,
    });
    expect(taken(plan({ vms: [fresh(1), old(2)], spec, vmis, batches: [one], now: NOW + 6_000 }))).toEqual(['web-2']);
  });
});

const stepped = (...steps: RolloutStep[]): Partial<PoolSpec> => ({
  ...oldest,
  maxUnavailable: '100%',
  rollout: { steps },
});
const begunWith = (fields: Partial<RolloutStatus> = {}): RolloutStatus =>
  rolling({ batches: 1, lastBatch: 1, ...fields });
const HALF_AN_HOUR = { wait: '30m' };

describe('a step of a rollout', () => {
  test('takes no more VMs than it says', () => {
    expect(taken(plan({ vms: all(8), spec: stepped(aStep(3)) }))).toEqual(['web-1', 'web-2', 'web-3']);
    expect(taken(plan({ vms: all(8), spec: stepped(aStep('25%')) }))).toHaveLength(2);
    expect(taken(plan({ vms: all(8), spec: stepped(aStep('5%')) }))).toHaveLength(1);
    expect(
      taken(plan({ vms: [fresh(1), ...all(8).slice(1)], spec: stepped(aStep(3)), state: begunWith() })),
    ).toHaveLength(2);
    expect(
      taken(
        plan({
          vms: all(8),
          spec: stepped(aStep(3)),
          state: begunWith(),
          batches: [aBatch([held(old(1)), held(old(2))])],
        }),
      ),
    ).toEqual(['web-3']);
  });

  test('does not limit VMs that return to the current revision', () => {
    const back = plan({
      vms: all(8),
      spec: stepped(aStep(3), aStep(5)),
      status: { currentRevision: NEW },
      state: begunWith({ stepReachedAt: at(NOW - MINUTE) }),
    });
    expect(taken(back)).toHaveLength(8);
    expect(back.state.stepReachedAt).toBeUndefined();
    // An undo of a canary: VMs that the bad template has not reached don't complete a step of the undo.
    const canary = plan({
      vms: [old(1), ...all(8, fresh).slice(1)],
      spec: stepped(aStep(3)),
      status: { currentRevision: NEW },
    });
    expect(canary).toMatchObject({ phase: 'RollingOut', update: { batch: { vms: [{ name: 'web-1' }] } } });
  });

  test('keeps what was written when a complete rollout ended', () => {
    const status = { currentRevision: NEW };
    const state = begunWith({ stepReachedAt: at(NOW - MINUTE), completedAt: at(NOW - 1_000), batches: 1 });
    expect(plan({ vms: all(4, fresh), spec: stepped(aStep(3), aStep(5)), status, state }).state).toEqual(state);
  });

  test('takes no VMs that do not run, since they would prove nothing', () => {
    expect(taken(plan({ vms: [old(1, HALTED), old(2)], spec: stepped(aStep(1)) }))).toEqual(['web-2']);
  });

  test('waits for a user, or for its time, once it is reached', () => {
    const vms = [fresh(1), ...all(4).slice(1)];
    const approval = plan({ vms, spec: stepped(aStep(1), aStep(2)), state: begunWith() });
    expect(approval).toMatchObject({
      update: null,
      phase: 'Waiting',
      requeueAt: null,
      state: { step: 0, stepReachedAt: at(NOW) },
    });
    expect(waits(approval)).toEqual(['step 1 of 2 (1) is reached: it waits for `drover rollout promote`']);
    const timed = plan({ vms, spec: stepped(aStep(1, HALF_AN_HOUR)), state: begunWith() });
    expect(timed).toMatchObject({ update: null, phase: 'Waiting', requeueAt: NOW + 30 * MINUTE });
    expect(waits(timed)).toEqual([`step 1 of 1 (1) is reached: it continues at ${at(NOW + 30 * MINUTE)}`]);
  });

  test('waits for approval if its wait cannot be parsed, and says so', () => {
    const planned = plan({
      vms: [fresh(1), ...all(4).slice(1)],
      spec: stepped(aStep(1, { wait: '5 minutes' }), aStep(2)),
      state: begunWith({ stepReachedAt: at(0) }),
    });
    expect(planned).toMatchObject({ update: null, phase: 'Waiting', requeueAt: null, state: { step: 0 } });
    expect(waits(planned)).toEqual([
      'step 1 of 2 (1) is reached: its wait "5 minutes" is not a duration such as 30s, 10m or 1h30m, and so it waits for `drover rollout promote`',
    ]);
  });

  test('is followed by the next once its time is over', () => {
    const state = begunWith({ stepReachedAt: at(NOW - 30 * MINUTE) });
    const planned = plan({
      vms: [fresh(1), ...all(4).slice(1)],
      spec: stepped(aStep(1, HALF_AN_HOUR), aStep(3)),
      state,
    });
    expect(taken(planned)).toEqual(['web-2', 'web-3']);
    expect(planned.state).toMatchObject({ step: 1 });
    expect(planned.state.stepReachedAt).toBeUndefined();
  });

  test('is reached only by VMs that run well', () => {
    const vms = [fresh(1), ...all(4).slice(1)];
    const batches = [aBatch([held(old(1))])];
    const steps = { ...stepped(aStep(1)), rollout: { steps: [aStep(1)], minReadySeconds: 60 } };
    const planned = plan({
      vms,
      vmis: { 'web-1': { readySince: NOW - 1_000 } },
      spec: steps,
      batches,
      state: begunWith(),
    });
    expect(planned.state.stepReachedAt).toBeUndefined();
    expect(planned.requeueAt).toBe(NOW + 59_000);
  });

  test('takes no other VM after one that crashes, and its time does not end it', () => {
    const planned = plan({
      vms: [fresh(1, DOWN), ...all(4).slice(1)],
      spec: stepped(aStep(1, HALF_AN_HOUR)),
      state: begunWith({ stepReachedAt: at(NOW - 31 * MINUTE) }),
    });
    expect(planned).toMatchObject({ update: null, phase: 'Waiting', requeueAt: null, state: { step: 0 } });
    expect(waits(planned)).toEqual(['step 1 of 1 (1): 1 of its VMs is not ready']);
  });

  test('takes no other VM in place of a stopped one, and cannot be promoted past it', () => {
    const canaries = [fresh(1, HALTED), fresh(2, HALTED), ...all(4).slice(2)];
    const state = begunWith({ stepReachedAt: at(NOW - 31 * MINUTE) });
    const stopped = plan({ vms: canaries, spec: { ...stepped(aStep(2, HALF_AN_HOUR)), replicas: 4 }, state });
    expect(stopped).toMatchObject({ update: null, phase: 'Waiting', requeueAt: null, state: { step: 0 } });
    expect(stopped.state.stepReachedAt).toBeUndefined();
    expect(waits(stopped)).toEqual(['step 1 of 1 (2): 2 of its VMs are stopped']);
    const one = plan({ vms: [fresh(1, DOWN), ...canaries.slice(1)], spec: stepped(aStep(2)), state });
    expect(one.update).toBeNull();
    expect(waits(one)).toEqual(['step 1 of 1 (2): 1 of its VMs is stopped, 1 of its VMs is not ready']);
  });

  test('is not reached once the pool has no VM, until it has some again', () => {
    const state = begunWith({ stepReachedAt: at(NOW - 31 * MINUTE) });
    for (const step of [aStep('25%'), aStep(1, HALF_AN_HOUR)]) {
      const empty = plan({ vms: [], spec: { ...stepped(step), replicas: 0 }, state });
      expect(empty).toMatchObject({ update: null, phase: 'Waiting', state: { step: 0 } });
      expect(empty.state.stepReachedAt).toBeUndefined();
      expect(waits(empty)).toEqual([`step 1 of 1 (${step.to}): the pool has no VM`]);
    }
    expect(taken(plan({ vms: all(4), spec: { ...stepped(aStep(1)), replicas: 4 }, state }))).toEqual(['web-1']);
  });

  test('starts its time again when one of its VMs was lost, restarted or not ready meanwhile', () => {
    const spec = { ...stepped(aStep(2, HALF_AN_HOUR), aStep(3)), replicas: 4 };
    const state = begunWith({ stepReachedAt: at(NOW - 29 * MINUTE) });
    const there = [fresh(1), fresh(2), old(3), old(4)];
    expect(plan({ vms: there, spec, state }).state.stepReachedAt).toBe(at(NOW - 29 * MINUTE));
    for (const vms of [there.toSpliced(1, 1), [fresh(1), fresh(2, DOWN), old(3), old(4)]]) {
      const lost = plan({ vms, spec, state });
      expect(lost.state).toMatchObject({ step: 0 });
      expect(lost.state.stepReachedAt).toBeUndefined();
    }
    // No plan was made while the VMI was not ready.
    const crashed = plan({
      vms: there,
      vmis: { 'web-2': { readySince: NOW - MINUTE } },
      spec,
      state,
      now: NOW + 2 * MINUTE,
    });
    expect(crashed).toMatchObject({
      update: null,
      requeueAt: NOW + 29 * MINUTE,
      state: { step: 0, stepReachedAt: at(NOW - MINUTE) },
    });
    expect(
      taken(plan({ vms: there, vmis: { 'web-2': { readySince: NOW - MINUTE } }, spec, state, now: NOW + 29 * MINUTE })),
    ).toEqual(['web-3']);
  });

  test('is reached by VMs that have been ready for minReadySeconds', () => {
    const rollout = { steps: [aStep(1)], minReadySeconds: 60 };
    const planned = plan({
      vms: [fresh(1), old(2)],
      vmis: { 'web-1': { readySince: NOW - 10_000 } },
      spec: { ...oldest, rollout },
      state: begunWith(),
    });
    expect(planned).toMatchObject({ update: null, requeueAt: NOW + 50_000 });
    expect(planned.state.stepReachedAt).toBeUndefined();
  });

  test('replaces a VM that has failed, as long as failures are tolerated', () => {
    const fields = { vms: [fresh(1, DOWN), ...all(4).slice(1)], state: begunWith({ failures: [failure('web-1')] }) };
    const steps = stepped(aStep(1));
    expect(taken(plan({ ...fields, spec: { ...steps, rollout: { ...steps.rollout, maxFailures: 1 } } }))).toEqual([
      'web-2',
    ]);
    expect(plan({ ...fields, spec: steps })).toMatchObject({ update: null, phase: 'Failed' });
  });

  test("takes a VM first that was written to, since it takes no other's place", () => {
    const vms = [old(1), old(2), fresh(3)];
    expect(
      taken(plan({ vms, vmis: { 'web-3': { revision: OLD } }, spec: stepped(aStep(1)), state: begunWith() })),
    ).toEqual(['web-3']);
  });

  test('counts VMs that are only written to as well', () => {
    const none: Partial<PoolSpec> = { ...stepped(aStep(1)), updateStrategy: { proactive: { disruption: 'None' } } };
    const planned = plan({
      vms: [fresh(1), old(2)],
      vmis: { 'web-1': { revision: OLD } },
      spec: none,
      state: begunWith(),
    });
    expect(planned).toMatchObject({ update: null, phase: 'Waiting', state: { stepReachedAt: at(NOW) } });
  });

  test('counts VMs that the new revision stops as well', () => {
    const halting: Partial<PoolSpec> = { ...stepped(aStep(1)), template: aTemplate({ runStrategy: 'Halted' }) };
    const first = plan({ vms: all(3), spec: halting, state: null });
    expect(taken(first)).toHaveLength(1);
    const planned = plan({
      vms: [old(1, { ...HALTED, revision: first.newest }), old(2), old(3)],
      spec: halting,
      state: { ...first.state, batches: 1 },
    });
    expect(planned).toMatchObject({ update: null, phase: 'Waiting', state: { stepReachedAt: at(NOW) } });
  });

  test('is reached by a fleet that does not run, which is written to once the rollout continues', () => {
    const vms = all(3).map((vm) => ({ ...vm, ...HALTED }));
    expect(plan({ vms, spec: stepped(aStep(1)) })).toMatchObject({
      update: null,
      phase: 'Waiting',
      state: { stepReachedAt: at(NOW) },
    });
    expect(taken(plan({ vms, spec: stepped(aStep(1)), state: rolling({ step: 1 }) }))).toHaveLength(3);
  });

  test('waits for a VM that needs waiting, and not for one that is left alone', () => {
    const state = begunWith();
    expect(
      plan({ vms: [fresh(1), old(2)], vmis: { 'web-2': { pause: BY_USER } }, spec: stepped(aStep(2)), state }).state
        .stepReachedAt,
    ).toBeUndefined();
    expect(
      plan({ vms: [fresh(1), old(2, { optedOut: true })], spec: stepped(aStep(2)), state }).state.stepReachedAt,
    ).toBe(at(NOW));
  });

  test('lets its wait continue during a pause, without waking the pool', () => {
    const state = begunWith({ stepReachedAt: at(NOW - MINUTE), paused: { by: 'anna', at: at(NOW) } });
    const fields = { vms: [fresh(1), old(2)], spec: stepped(aStep(1, HALF_AN_HOUR)) };
    expect(plan({ ...fields, state })).toMatchObject({ phase: 'Paused', requeueAt: null, state: { step: 0 } });
    expect(plan({ ...fields, state, now: NOW + 60 * MINUTE })).toMatchObject({ phase: 'Paused', state: { step: 0 } });
    expect(
      taken(plan({ ...fields, state: begunWith({ stepReachedAt: at(NOW - MINUTE) }), now: NOW + 60 * MINUTE })),
    ).toEqual(['web-2']);
  });

  test('does not hold an undo, nor a pool whose VMs all have the revision', () => {
    const undoing = begunWith({ halted: { kind: 'Undoing', by: 'drover', at: at(NOW) } });
    expect(taken(plan({ vms: all(4, fresh), spec: stepped(aStep(1)), state: undoing }))).toHaveLength(4);
    expect(plan({ vms: all(4, fresh), spec: stepped(aStep(1)) })).toMatchObject({ phase: 'Complete' });
    expect(
      plan({
        vms: all(4, fresh),
        spec: stepped(aStep(1), aStep(2)),
        state: begunWith({ step: 1, completedAt: at(NOW) }),
      }),
    ).toMatchObject({ phase: 'Complete' });
  });
});

const judged = (rollout: NonNullable<PoolSpec['rollout']> = {}): Partial<PoolSpec> => ({
  ...oldest,
  maxUnavailable: '100%',
  rollout,
});
const failed = (count: number, fields = {}): RolloutStatus =>
  rolling({ batches: 1, failures: all(count).map((vm) => failure(vm.name, fields)) });
const undoing = (fields: Partial<RolloutStatus> = {}): RolloutStatus =>
  rolling({ batches: 3, halted: { kind: 'Undoing', by: 'drover', at: at(NOW - MINUTE) }, ...fields });

describe('failures of VMs', () => {
  const vms = [fresh(1, DOWN), fresh(2, DOWN), old(3), old(4)];

  test('pause the rollout by default once there are more than maxFailures', () => {
    const { state, phase, update } = plan({ vms, spec: judged(), state: failed(1) });
    expect({ phase, update }).toEqual({ phase: 'Failed', update: null });
    expect(state.halted).toEqual({
      kind: 'Failed',
      by: 'drover',
      at: at(NOW),
      reason: '1 VM failed, and maxFailures allows 0; the last: web-1: not ready in time',
    });
  });

  test('pause it however high maxFailures is, and with all others that do not count between them', () => {
    const many = Array.from({ length: 400 }, (_, index) => failure(`web-${index + 1_001}`));
    const state = [...many, ...many.map(({ vm }) => failure(`${vm}0000`, { wasDown: true }))].reduce(
      (before, one) => withFailures(before, NEW, [one]),
      rolling(),
    );
    expect(plan({ vms, spec: judged({ maxFailures: 399 }), state }).state.halted).toMatchObject({
      kind: 'Failed',
      reason: '400 VMs failed, and maxFailures allows 399; the last: web-1400: not ready in time',
    });
    expect(plan({ vms, spec: judged({ maxFailures: 400 }), state }).phase).toBe('RollingOut');
  });

  test.each(['Pause', 'Undo', 'Continue'] as const)(
    'pause it once there are a thousand, on failure: %s',
    (onFailure) => {
      const failures = Array.from({ length: 1_500 }, (_, index) => failure(`web-${index + 1}`, { wasDown: true }));
      const state = withFailures(rolling(), NEW, failures);
      expect(plan({ vms, spec: judged({ onFailure, maxFailures: 5_000 }), state }).state.halted).toMatchObject({
        kind: 'Failed',
        reason: '1000 VMs or more failed, and no rollout continues with so many; the last: web-1500: not ready in time',
      });
    },
  );

  test('do not pause it up to maxFailures, or if it is to continue', () => {
    expect(taken(plan({ vms, spec: judged({ maxFailures: 2 }), state: failed(2) }))).toEqual(['web-3', 'web-4']);
    expect(taken(plan({ vms, spec: judged({ onFailure: 'Continue' }), state: failed(2) }))).toEqual(['web-3', 'web-4']);
    expect(plan({ vms, spec: judged({ maxFailures: 1 }), state: failed(2) }).phase).toBe('Failed');
  });

  test('say nothing of the revision if the VMs were down before', () => {
    expect(taken(plan({ vms, spec: judged(), state: failed(2, { wasDown: true }) }))).toEqual(['web-3', 'web-4']);
  });

  test('are not tried again before a user resumes, unless the VM is another', () => {
    const refused = [old(1), old(2)];
    const planned = plan({ vms: refused, spec: judged({ maxFailures: 2 }), state: failed(1) });
    expect(taken(planned)).toEqual(['web-2']);
    expect(waits(planned)).toEqual(['web-1: it has failed in this rollout']);
    expect(
      taken(plan({ vms: [old(1, { createdAt: NOW }), old(2)], spec: judged({ maxFailures: 2 }), state: failed(1) })),
    ).toContain('web-1');
  });

  test('do not judge a rollout that was over', () => {
    const state = { ...failed(2), completedAt: at(NOW - MINUTE) };
    expect(plan({ vms: all(2, fresh), spec: judged({ onFailure: 'Undo' }), state })).toMatchObject({
      phase: 'Complete',
      target: NEW,
    });
  });

  describe('an automatic undo', () => {
    const undo = judged({ onFailure: 'Undo' });

    test('goes to the last revision that all VMs had', () => {
      const planned = plan({ vms, spec: undo, state: failed(1) });
      expect(planned).toMatchObject({
        phase: 'Undoing',
        target: OLD,
        newest: NEW,
        state: { failures: [{ vm: 'web-1' }], halted: { kind: 'Undoing', by: 'drover' } },
      });
      expect(planned.update).toMatchObject({ requestedBy: 'drover', batch: { revision: OLD, rollout: NEW } });
      expect(taken(planned)).toEqual(['web-1', 'web-2']);
    });

    test('includes the VMs of its own batches', () => {
      expect(plan({ vms, spec: undo, state: failed(1), batches: [aBatch([held(old(2))])] }).superseded).toEqual([1]);
    });

    test('lasts until all VMs are back', () => {
      expect(plan({ vms: all(3), spec: undo, state: undoing() })).toMatchObject({
        phase: 'Undone',
        current: OLD,
        target: OLD,
        update: null,
        state: { completedAt: at(NOW) },
      });
    });

    test('lasts while some are not ready there, and reports that', () => {
      expect(plan({ vms: all(3), spec: undo, state: undoing() }).notBack).toEqual([]);
      expect(plan({ vms: [old(1, DOWN), old(2), old(3, { ...HALTED })], spec: undo, state: undoing() })).toMatchObject({
        phase: 'Undone',
        notBack: ['web-1'],
      });
    });

    test('ignores earlier failures', () => {
      const cause = failure('web-1', { at: at(NOW - MINUTE - 1) });
      const planned = plan({ vms, spec: undo, state: undoing({ failures: [cause] }) });
      expect(planned).toMatchObject({ phase: 'Undoing', state: { failures: [cause] } });
      expect(taken(planned)).toEqual(['web-1', 'web-2']);
    });

    test('ends if it fails too', () => {
      const planned = plan({ vms, spec: undo, state: undoing({ failures: [failure('web-2')] }) });
      expect(planned).toMatchObject({
        phase: 'Failed',
        target: OLD,
        update: null,
        state: { halted: { kind: 'UndoFailed' } },
      });
    });

    test('does not begin if that revision is unknown, or the same', () => {
      expect(plan({ vms, spec: undo, state: failed(1), kept: [] })).toMatchObject({ phase: 'Failed', target: NEW });
      expect(plan({ vms, spec: undo, state: failed(1), status: { currentRevision: NEW } })).toMatchObject({
        phase: 'Failed',
        target: NEW,
      });
    });

    test('goes no further if that revision is lost in the middle', () => {
      expect(plan({ vms, spec: undo, state: undoing(), kept: [] })).toMatchObject({
        phase: 'Failed',
        update: null,
        state: { halted: { kind: 'UndoFailed' } },
      });
    });
  });
});

describe('the current revision', () => {
  test('moves once all VMs have the newest except those that opted out, and not before', () => {
    expect(plan({ vms: [...all(3, fresh), old(4)] }).current).toBe(OLD);
    expect(plan({ vms: [...all(3, fresh), old(4, { optedOut: true })] })).toMatchObject({
      phase: 'Complete',
      current: NEW,
    });
    expect(plan({ vms: [old(1, { optedOut: true })] })).toMatchObject({ phase: 'Complete', current: OLD });
    expect(plan({ vms: all(4, fresh), state: rolling({ paused: { by: 'anna', at: at(NOW) } }) }).current).toBe(NEW);
    expect(
      plan({ vms: all(4, fresh), state: rolling({ halted: { kind: 'Aborted', by: 'anna', at: at(NOW) } }) }).current,
    ).toBe(OLD);
  });

  test('is that of most VMs if nothing records it, of those kept, and in whatever order they are read', () => {
    const status = { currentRevision: undefined } as never;
    const current = (vms: VmView[], fields: RolloutFields = {}): string => plan({ vms, status, ...fields }).current;
    expect(current([old(1), old(2), fresh(3)])).toBe(OLD);
    expect(current([fresh(1), fresh(2), old(3)])).toBe(NEW);
    expect(current([old(1), fresh(2)])).toBe(OLD);
    expect(current([fresh(2), old(1)])).toBe(OLD);
    expect(current([old(1, { revision: 'lost' }), old(2, { revision: 'lost' }), old(3)])).toBe(OLD);
    expect(current([old(1, { revision: 'lost' })])).toBe(NEW);
  });
});

describe('a new VM gets', () => {
  const first = [fresh(1), old(2)];
  test.each<[string, RolloutFields, string]>([
    ['the newest revision, if all have it', { vms: all(2, fresh) }, NEW],
    ['the last one, until the newest has proven itself', { vms: all(2) }, OLD],
    ['the last one, while the first VMI of the newest comes up', { vms: [fresh(1, DOWN), old(2)] }, OLD],
    ['the last one, if the newest has only been written down', { vms: [fresh(1, HALTED), old(2)] }, OLD],
    ['the newest, once a VMI of it is ready', { vms: first }, NEW],
    ['the last one, while it is paused', { vms: first, spec: { paused: true } }, OLD],
    [
      'the last one, after a failure',
      { vms: first, state: rolling({ halted: { kind: 'Failed', by: 'drover', at: at(NOW) } }) },
      OLD,
    ],
    [
      'the last one, in an undo',
      { vms: first, state: rolling({ halted: { kind: 'Undoing', by: 'drover', at: at(NOW) } }) },
      OLD,
    ],
    ['the last one, below a step', { vms: first, spec: { rollout: { steps: [aStep(1)] } } }, OLD],
    ['the newest, if the last one is lost', { vms: all(2), kept: [] }, NEW],
    ['the newest, if people update', { vms: all(2), spec: { updateStrategy: { unmanaged: {} } } }, NEW],
    [
      'the newest, if VMs are updated as they stop',
      { vms: all(2), spec: { updateStrategy: { opportunistic: {} } } },
      NEW,
    ],
  ])('%s', (_what, fields, revision) => {
    expect(plan(fields).forNewVms).toBe(revision);
  });
});

describe('a pool whose VMs are not rolled', () => {
  test('writes to all VMs if it is opportunistic, restarts none, and reports VMs that wait for a restart', () => {
    const spec: Partial<PoolSpec> = { updateStrategy: { opportunistic: {} } };
    const planned = plan({ vms: [old(1), old(2, HALTED), fresh(3)], vmis: { 'web-3': { revision: OLD } }, spec });
    expect(planned.update?.batch.vms.map(({ name, act }) => [name, act])).toEqual([
      ['web-2', 'write'],
      ['web-1', 'write'],
    ]);
    expect(waits(planned)).toEqual(['web-3: it waits for a restart, which the pool leaves to users']);
    expect(plan({ vms: [fresh(1), fresh(2, HALTED)], vmis: { 'web-1': { revision: OLD } }, spec })).toMatchObject({
      phase: 'Idle',
      current: OLD,
      update: null,
      requeueAt: null,
    });
    expect(plan({ vms: all(2, fresh), spec })).toMatchObject({ phase: 'Complete', current: NEW });
  });

  test('changes nothing if it is unmanaged', () => {
    const spec: Partial<PoolSpec> = { updateStrategy: { unmanaged: {} } };
    const planned = plan({ vms: [old(1), old(2, HALTED), fresh(3)], spec });
    expect(planned).toMatchObject({ phase: 'Idle', update: null });
    expect(waits(planned)).toEqual(['web-1, web-2: not managed by drover']);
  });
});

test('reports what is left alone and what is waited for, in the same words whatever the order', () => {
  const vms = [
    old(1, { optedOut: true }),
    old(2),
    old(3, { optedOut: true }),
    old(4, { operations: SNAPSHOT }),
    fresh(5),
  ];
  const vmis = { 'web-2': { migration: { name: 'm', phase: 'Running', createdAt: NOW } } };
  const planned = plan({ vms, vmis });
  expect(planned.waits).toEqual([
    { kind: 'Vms', message: 'web-2: it migrates (m)' },
    { kind: 'Vms', message: 'web-4: a snapshot of it (nightly) is taken' },
    { kind: 'Left', message: 'web-1, web-3: its owner opted out of disruption' },
  ]);
  expect(planned).toMatchObject({ phase: 'RollingOut', update: null, updated: 1 });
  expect(plan({ vms: vms.toReversed(), vmis })).toEqual(planned);
});

const kinds = (fields: RolloutFields): string[] => plan(fields).waits.map(({ kind }) => kind);

describe('VMs that something has held for longer than it usually takes', () => {
  const hung = { operations: [{ kind: 'Snapshot', object: 'nightly', since: 0, isOverdue: true }] } as const;
  const migration = { name: 'm', phase: 'Synchronizing', createdAt: NOW - 7 * 3_600_000 };

  test('have their rollout be stuck: by an operation, or by the migration of another client', () => {
    expect(kinds({ vms: [old(1, hung), fresh(2)] })).toEqual(['Stuck']);
    expect(kinds({ vms: [old(1), fresh(2)], vmis: { 'web-1': { migration } } })).toEqual(['Stuck']);
    const recent = { ...migration, createdAt: NOW - 3_600_000 };
    const waiting = plan({ vms: [old(1), fresh(2)], vmis: { 'web-1': { migration: recent } } });
    expect(waiting).toMatchObject({ waits: [{ kind: 'Vms' }], requeueAt: NOW + 5 * 3_600_000 });
  });

  test('are waited for like others while the rollout has something else to do', () => {
    expect(kinds({ vms: [old(1, hung), old(2)] })).not.toContain('Stuck');
    const batches = [aBatch([held(old(2, DOWN))])];
    expect(kinds({ vms: [old(1, hung), old(2, DOWN)], batches })).not.toContain('Stuck');
  });
});

test('finds its VMs as they were if a template comes back', () => {
  const back: RolloutFields = {
    spec: { template: OLD_TEMPLATE, maxUnavailable: '100%' },
    kept: [NEW_TEMPLATE],
    vms: [old(1), fresh(2), fresh(3)],
    vmis: { 'web-3': { revision: OLD } },
  };
  const { update } = plan({ ...back, state: rolling() });
  expect(update?.batch.vms.map(({ name, act }) => [name, act]).toSorted()).toEqual([
    ['web-2', 'restart'],
    ['web-3', 'write'],
  ]);
});
