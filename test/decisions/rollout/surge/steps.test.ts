import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../../api/pool/pool.ts';
import type { PoolPlanInput } from '../../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../../decisions/pool/plan.ts';
import { numberOf } from '../../../../decisions/template/vm-names.ts';
import type { VmView } from '../../../../decisions/views/vm.ts';
import { backoffFor, failed } from '../../fixtures/backoffs.ts';
import { aPool, aVmi, quiet } from '../../fixtures/fleets.ts';
import {
  aBatch,
  aStep,
  at,
  DOWN,
  failure,
  fresh,
  HALTED,
  held,
  NEW,
  NEW_TEMPLATE,
  NOW,
  OLD,
  OLD_TEMPLATE,
  old,
  rolling,
} from '../../fixtures/rollout-pools.ts';

const extra = (number: number, fields: Partial<VmView> = {}): VmView => fresh(number, { role: 'Surge', ...fields });

/** A pool of four in the middle of a rollout that may take no VM down without an extra one. */
function planned(
  others: readonly VmView[],
  {
    spec = {},
    vms = [old(1), old(2), old(3), old(4)],
    ...input
  }: Partial<PoolPlanInput> & { spec?: Partial<PoolSpec> } = {},
): PoolPlan {
  const pool = aPool({ replicas: 4, template: NEW_TEMPLATE, maxUnavailable: 0, maxSurge: 1, ...spec });
  return planPool({
    ...quiet,
    pool: { ...pool, status: { replicas: 4, currentRevision: OLD, updateRevision: NEW } },
    revisions: [
      { name: 'web-1', revision: OLD, number: 1, template: OLD_TEMPLATE },
      { name: 'web-2', revision: NEW, number: 2, template: NEW_TEMPLATE },
    ],
    rollout: rolling(),
    now: NOW,
    burst: 250,
    ...input,
    vms: [...vms, ...others],
  });
}

const made = ({ steps }: PoolPlan) =>
  steps.flatMap((step) => (step.kind === 'create' && step.role === 'Surge' ? step.numbers : []));
const gone = ({ steps }: PoolPlan) =>
  steps.flatMap((step) => (step.kind === 'delete' && step.because === 'Surge' ? step.vms.map(({ name }) => name) : []));
const updated = ({ steps }: PoolPlan) =>
  steps.flatMap((step) => (step.kind === 'update' ? step.batch.vms.map(({ name }) => name) : []));
const words = ({ rollout }: PoolPlan) => rollout.waits.map(({ message: one }) => one);

describe('a surge', () => {
  test('makes extra VMs before any VM goes down, and the first goes down once one is available', () => {
    expect([planned([])].map((plan) => [made(plan), updated(plan)])).toEqual([[[5], []]]);
    const plan = planned([extra(5)]);
    expect([made(plan), gone(plan)]).toEqual([[], []]);
    expect(updated(plan)).toHaveLength(4);
  });

  test('makes VMs of the revision that VMs are brought to, in an undo too', () => {
    const undo = { halted: { kind: 'Undoing', by: 'drover', at: at(NOW - 1_000) } } as const;
    const plan = planned([], { vms: [fresh(1), old(2), old(3), old(4)], rollout: rolling(undo) });
    expect(plan.steps).toMatchObject([{ kind: 'create', numbers: [5], role: 'Surge', revision: OLD }]);
  });

  test('makes no more VMs than are left to update, or than may go to the next step', () => {
    const most = { maxSurge: 3 };
    expect(made(planned([], { spec: most }))).toEqual([5, 6, 7]);
    expect(made(planned([], { spec: most, vms: [fresh(1), fresh(2), fresh(3), old(4)] }))).toEqual([5]);
    expect(made(planned([], { spec: { ...most, rollout: { steps: [aStep(2)] } } }))).toEqual([5, 6]);
    expect(made(planned([extra(5, { deleting: true })], { spec: most }))).toEqual([6, 7]);
  });

  test('gives numbers beyond those of replicas, of batches and of healed VMs, and uses no kept disks', () => {
    expect(made(planned([], { vms: [old(1), old(2), old(3), old(9)] }))).toEqual([10]);
    const replaced = aBatch([held(old(7), 'replace')]);
    expect(made(planned([], { spec: { maxSurge: 2 }, batches: [replaced] }))).toEqual([8, 9]);
    expect(made(planned([], { isVmNameTaken: (name) => name === 'web-5' }))).toEqual([6]);
  });

  test.each<[string, Partial<PoolPlanInput> & { spec?: Partial<PoolSpec> }]>([
    ['in a pause', { rollout: rolling({ paused: { by: 'ann', at: at(NOW) } }) }],
    ['after an abort', { rollout: rolling({ halted: { kind: 'Aborted', by: 'ann', at: at(NOW) } }) }],
    ['outside of windows', { spec: { rollout: { windows: [{ cron: '0 3 * * *', duration: '1h' }] } } }],
    ['while replicas are made', { vms: [old(1), old(2), old(3)] }],
    ['before the one that is being made', { inProgress: { creating: ['web-5'], deleting: [] } }],
    ['in the back-off after a refusal', { backoffs: failed('FailedSurge', { allowance: 0 }) }],
  ])('makes none for %s', (_, input) => {
    expect(made(planned([], input))).toEqual([]);
  });
});

test('takes no number from standby VMs, which go first and are no reason for an extra VM', () => {
  const spec = { standby: { replicas: 1 } };
  const standby = old(5, { ...HALTED, role: 'Standby' });
  expect(made(planned([standby], { spec }))).toEqual([6]);
  expect(made(planned([], { spec, inProgress: { creating: [], deleting: [], standby: ['web-5'] } }))).toEqual([6]);
  // While standby VMs are missing, their numbers are not known yet.
  expect(planned([], { spec }).steps).toMatchObject([{ kind: 'create', numbers: [5], role: 'Standby' }]);
  const vms = [1, 2, 3, 4].map((number) => fresh(number));
  expect(made(planned([standby], { spec, vms }))).toEqual([]);
});

describe('an extra VM', () => {
  test('leaves once no VM is left to update', () => {
    expect(gone(planned([extra(5)], { vms: [1, 2, 3, 4].map((number) => fresh(number)) }))).toEqual(['web-5']);
  });

  test.each<[string, Partial<PoolPlanInput> & { spec?: Partial<PoolSpec> }]>([
    ['in a pause', { rollout: rolling({ paused: { by: 'ann', at: at(NOW) } }) }],
    ['at a step', { spec: { rollout: { steps: [aStep(1)] } }, vms: [fresh(1), old(2), old(3), old(4)] }],
    ['outside of windows', { spec: { rollout: { windows: [{ cron: '0 3 * * *', duration: '1h' }] } } }],
  ])('%s', (_, input) => {
    expect(gone(planned([extra(5)], { ...input, rollout: input.rollout ?? rolling({ batches: 1 }) }))).toEqual([
      'web-5',
    ]);
  });

  test('stays while another VM is down for which it stands in', () => {
    const halted = rolling({ halted: { kind: 'Failed', by: 'drover', at: at(NOW) } });
    const vms = [fresh(1, DOWN), old(2), old(3), old(4)];
    expect(gone(planned([extra(5)], { vms, rollout: halted }))).toEqual([]);
    // One that is not available stands in for nobody.
    expect(gone(planned([extra(5, DOWN)], { vms, rollout: halted }))).toEqual(['web-5']);
  });

  test('stays while a disruption budget has no room for its removal, and is looked at again', () => {
    const vms = [1, 2, 3, 4].map((number) => fresh(number));
    const asked: unknown[] = [];
    const held = (fields: { opensAt?: number } = {}): PoolPlan =>
      planned([extra(5)], {
        vms,
        whyHeld: (vm, ...why) => {
          asked.push([vm.name, ...why]);
          return { budget: 'uid', message: 'no room', ...fields };
        },
      });
    expect([gone(held()), held().requeueAt]).toEqual([[], NOW + 5_000]);
    expect(held({ opensAt: NOW + 60_000 }).requeueAt).toBe(NOW + 60_000);
    expect(asked[0]).toEqual(['web-5', 'restart', 'Removal']);
    expect(gone(planned([extra(5)], { vms, whyHeld: () => null }))).toEqual(['web-5']);
  });

  test('stays while users keep it', () => {
    const vms = [1, 2, 3, 4].map((number) => fresh(number));
    expect(gone(planned([extra(5, { protected: true }), extra(6, { optedOut: true })], { vms }))).toEqual([]);
  });

  test('is replaced if it fails to come up and the template has changed since', () => {
    const plan = planned([extra(5, { ...DOWN, revision: 'older' })]);
    expect([gone(plan), made(plan)]).toEqual([['web-5'], []]);
    // What is available stands in for others, whatever its revision.
    expect(gone(planned([extra(5, { revision: 'older' })]))).toEqual([]);
  });
});

describe('a rollout without the extra VMs that it needs', () => {
  test('fails if one does not come up in time, and says which', () => {
    const late = extra(5, { ...DOWN, createdAt: NOW - 700_000 });
    const plan = planned([late], { rollout: rolling({ startedAt: at(NOW - 800_000) }) });
    expect(plan.rollout).toMatchObject({
      phase: 'Failed',
      state: { failures: [{ vm: 'web-5', message: 'it is extra, and has not been ready for 600 s' }] },
    });
    expect(gone(plan)).toEqual(['web-5']);
  });

  test('does not fail while a guest shuts down within its grace period, and is judged when that is over', () => {
    const since = NOW - 700_000;
    const late = extra(5, { ...DOWN, createdAt: NOW - 790_000, notReadySince: since });
    const shutsDown = (deletingSince: number): PoolPlan =>
      planned([late], {
        rollout: rolling({ startedAt: at(NOW - 800_000) }),
        vmiOf: (vm) => aVmi(vm, vm.name === late.name ? { deleting: true, deletingSince, graceMs: 3_600_000 } : {}),
      });
    expect(shutsDown(since).rollout.state.failures).toEqual([]);
    expect(shutsDown(NOW - 3_700_000).rollout.state.failures).toMatchObject([{ vm: 'web-5' }]);
  });

  test('does not fail because of a full cluster, and reports after a while that it is held up', () => {
    const stuck = extra(5, { ...DOWN, state: 'ErrorUnschedulable', createdAt: NOW - 700_000 });
    const plan = planned([stuck], { rollout: rolling({ startedAt: at(NOW - 800_000) }) });
    expect(plan.rollout.state.failures).toEqual([]);
    expect(plan.rollout.waits).toMatchObject([{ kind: 'Blocked' }]);
    expect(words(plan)).toEqual([
      '0 VMs are unavailable, for 600 s and longer, and maxUnavailable allows 0; web-5 is extra, and not available yet (ErrorUnschedulable)',
    ]);
  });

  test('says why none is made, keeps that failure, and continues as far as VMs may go down', () => {
    const refusal = { reason: 'FailedSurge', message: 'exceeded quota', since: at(NOW - 700_000) } as const;
    const backoffs = backoffFor('FailedSurge', { failure: refusal, allowance: 0 });
    const plan = planned([], { backoffs, rollout: rolling({ startedAt: at(NOW - 800_000) }) });
    expect(plan.failures).toEqual([refusal]);
    expect(plan.rollout.waits).toMatchObject([{ kind: 'Blocked' }]);
    expect(words(plan)[0]).toContain('; no extra VM can be made: exceeded quota');
    expect(updated(planned([], { backoffs, spec: { maxUnavailable: 1 } }))).toHaveLength(4);
  });

  test('names an extra VM that holds the place of another, since its deletion does not end, and reports that it is held up', () => {
    const leaving = extra(5, { deleting: true, leavingSince: NOW - 700_000 });
    const plan = planned([leaving], { rollout: rolling({ startedAt: at(NOW - 800_000) }) });
    expect(made(plan)).toEqual([]);
    expect(plan.rollout.waits).toMatchObject([{ kind: 'Blocked' }]);
    expect(words(plan)[0]).toContain('; no extra VM can be made until web-5 is deleted');
    const soon = planned([{ ...leaving, leavingSince: NOW - 10_000 }], {
      rollout: rolling({ startedAt: at(NOW - 800_000) }),
    });
    expect(soon.requeueAt).toBe(NOW + 590_000);
  });

  test('is refused without slowing down a missing replica, and the other way round', () => {
    const vms = [old(1), old(2), old(3)];
    const plan = planned([], { vms, backoffs: failed('FailedSurge', { allowance: 0 }) });
    expect(plan.steps).toContainEqual(expect.objectContaining({ kind: 'create', numbers: [4] }));
    expect(made(planned([], { backoffs: failed('FailedCreate', { allowance: 0 }) }))).toEqual([5]);
  });

  test('keeps an extra VM that has failed, if others may fail too, and reports that it is held up', () => {
    const failed = extra(5, { ...DOWN, createdAt: NOW - 700_000 });
    const state = rolling({ startedAt: at(NOW - 800_000), failures: [failure('web-5')] });
    const plan = planned([failed], { rollout: state, spec: { rollout: { maxFailures: 1 } } });
    expect([gone(plan), made(plan), updated(plan)]).toEqual([[], [], []]);
    expect(plan.rollout.waits).toMatchObject([{ kind: 'Blocked' }]);
  });
});

test('healing replaces no extra VM', () => {
  const sick = extra(5, { ...DOWN, startFailures: 9, state: 'CrashLoopBackOff' });
  const spec = { autohealing: { startupFailureThreshold: 1 } };
  expect(planned([sick], { spec }).healing).toMatchObject({ begin: [], notReplaced: [], state: { cycles: [] } });
});

test('the status counts extra VMs beside those that an autoscaler counts on', () => {
  const vms = [fresh(1, DOWN), old(2), old(3), old(4)];
  const { status, counts } = planned([extra(5)], { vms, batches: [aBatch([held(old(1))])] });
  expect(status).toMatchObject({
    replicas: 5,
    readyReplicas: 4,
    availableReplicas: 4,
    unavailableReplicas: 1,
    updatedReplicas: 1,
    surgeReplicas: 1,
  });
  expect(counts).toMatchObject({ wanted: 4, present: 4, ready: 3, surge: 1 });
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Available', status: 'True', message: expect.stringContaining(', and 1 extra') }),
  );
});

test('at most maxSurge extra VMs are made, all with numbers of their own', () =>
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 }),
      fc.uniqueArray(fc.integer({ min: 13, max: 20 }), { maxLength: 4 }),
      fc.integer({ min: 0, max: 5 }),
      fc.integer({ min: 0, max: 4 }),
      (numbers, extras, maxSurge, maxUnavailable) => {
        const vms = numbers.map((number) => old(number));
        const others = extras.map((number) => extra(number, number % 2 === 0 ? DOWN : {}));
        const plan = planned(others, { vms, spec: { replicas: vms.length, maxSurge, maxUnavailable } });
        const fresh = made(plan);
        expect(extras.length + fresh.length).toBeLessThanOrEqual(Math.max(maxSurge, extras.length));
        const highest = Math.max(vms.length, ...vms.map(({ name }) => numberOf('web', name)!));
        expect(fresh.every((number) => number > highest && !extras.includes(number))).toBe(true);
      },
    ),
  ));
