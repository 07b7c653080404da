import { describe, expect, test } from 'vitest';
import type { Condition, PoolSpec, RolloutStatus } from '../../../api/pool/pool.ts';
import { scaleInRules } from '../../../api/rules/pool-defaults.ts';
import { terminatingVms } from '../../../decisions/owners/terminating.ts';
import { rolloutConditions } from '../../../decisions/rollout/conditions.ts';
import { planRollout } from '../../../decisions/rollout/plan.ts';
import { blockedSurplus } from '../../../decisions/scaling/surplus.ts';
import { isRegular } from '../../../decisions/views/vm.ts';
import {
  aStep,
  at,
  DOWN,
  failure,
  fresh,
  NEW,
  NOW,
  OLD,
  old,
  rolling,
  rolloutInput,
  type RolloutFields,
} from '../fixtures/rollout-pools.ts';

test('a rollout that VMs hold up which may never come free is stuck, and is waited for', () => {
  const hung = [{ kind: 'Snapshot', object: 'nightly', since: NOW - 7_200_000, isOverdue: true }] as const;
  const { Progressing, UpToDate } = conditions({ vms: [old(1, { operations: hung }), fresh(2)] });
  expect(Progressing).toMatchObject({
    status: 'False',
    reason: 'Stuck',
    message: expect.stringContaining('web-1: a snapshot of it (nightly) is taken, since 2026-01-01T10') as string,
  });
  expect(UpToDate).toMatchObject({ status: 'False', reason: 'Stuck' });
});

const conditions = (fields: RolloutFields): Record<string, Condition> => {
  const input = rolloutInput(fields);
  const { pool, vms, vmiOf, now } = input;
  const blocked = blockedSurplus({
    pool,
    vmiOf,
    rules: scaleInRules(pool.spec.scaleInStrategy),
    active: vms.filter(isRegular),
    standby: [],
    now,
    fault: null,
  });
  const all = rolloutConditions(
    pool,
    planRollout(input),
    { blocked, waiting: 0, going: terminatingVms(vms.filter(isRegular), vmiOf) },
    at(input.now),
  );
  return Object.fromEntries(all.map((condition) => [condition.type, condition]));
};

const steps = [aStep(1)];
const timed = [aStep(1, { wait: '30m' })];
const windows = [{ cron: '0 22 * * *', duration: '2h' }];
const stopped = (kind: NonNullable<RolloutStatus['halted']>['kind'], why = 'too many'): RolloutStatus =>
  rolling({ batches: 1, halted: { kind, by: 'anna', at: at(NOW), reason: why } });
/**
 * A fleet with one VM that was down before the rollout. The rollout began `short` milliseconds less than ten minutes
 * ago.
 */
const stuck = (short: number, fields: Partial<RolloutStatus> = {}): RolloutFields => ({
  vms: [fresh(1, { ...DOWN, notReadySince: NOW - 900_000 }), old(2)],
  state: rolling({ startedAt: at(NOW - 600_000 + short), batches: 1, ...fields }),
});
const canary = [fresh(1), old(2), old(3)];

describe('Progressing', () => {
  test.each<[RolloutFields, Condition['status'], string, string]>([
    [{ vms: [fresh(1), fresh(2)] }, 'False', 'Complete', `all VMs have revision ${NEW}`],
    [
      { vms: [fresh(1), old(2, { optedOut: true })] },
      'False',
      'Complete',
      `revision ${NEW} is rolled out; web-2: its owner opted out of disruption`,
    ],
    [
      {
        vms: [fresh(1), fresh(2)],
        vmis: { 'web-1': { revision: OLD }, 'web-2': { revision: OLD } },
        spec: { updateStrategy: { opportunistic: {} } },
      },
      'False',
      'OutdatedVms',
      'web-1, web-2: it waits for a restart, which the pool leaves to users',
    ],
    [{ vms: canary }, 'True', 'RollingOut', `1 of 3 VMs updated to revision ${NEW}`],
    [
      { vms: [fresh(1, DOWN), old(2)] },
      'True',
      'RollingOut',
      `1 of 2 VMs updated to revision ${NEW}; 1 VM is unavailable (web-1), and maxUnavailable allows 1`,
    ],
    [
      stuck(0),
      'False',
      'ProgressDeadlineExceeded',
      `1 of 2 VMs updated to revision ${NEW}; 1 VM is unavailable (web-1), for 600 s and longer, and maxUnavailable allows 1`,
    ],
    [
      stuck(1),
      'True',
      'RollingOut',
      `1 of 2 VMs updated to revision ${NEW}; 1 VM is unavailable (web-1), and maxUnavailable allows 1`,
    ],
    [
      { ...stuck(0), isHealed: () => true },
      'True',
      'RollingOut',
      `1 of 2 VMs updated to revision ${NEW}; 1 VM is unavailable (web-1), and maxUnavailable allows 1`,
    ],
    [
      stuck(0, { resumedAt: at(NOW - 1000) }),
      'True',
      'RollingOut',
      `1 of 2 VMs updated to revision ${NEW}; 1 VM is unavailable (web-1), and maxUnavailable allows 1`,
    ],
    [
      { vms: canary, spec: { rollout: { steps } }, state: rolling({ batches: 1 }) },
      'True',
      'WaitingForApproval',
      'step 1 of 1 (1) is reached: it waits for `drover rollout promote`',
    ],
    [
      { vms: canary, spec: { rollout: { steps: timed } }, state: rolling({ batches: 1 }) },
      'True',
      'WaitingAtStep',
      `step 1 of 1 (1) is reached: it continues at ${at(NOW + 1_800_000)}`,
    ],
    [
      { vms: canary, spec: { rollout: { windows } } },
      'True',
      'WaitingForWindow',
      'the next window opens at 2026-01-01T22:00:00.000Z',
    ],
    [{ vms: canary, spec: { paused: true } }, 'False', 'Paused', ''],
    [{ vms: canary, state: stopped('Aborted', 'not today') }, 'False', 'Aborted', 'by anna: not today'],
    [{ vms: canary, state: stopped('Failed') }, 'False', 'Failed', 'too many'],
    [{ vms: canary, state: stopped('UndoFailed') }, 'False', 'UndoFailed', 'too many'],
    [{ vms: canary, state: stopped('Undoing') }, 'True', 'Undoing', `VMs go back to revision ${OLD}: too many`],
    [
      { vms: [old(1), old(2)], state: stopped('Undoing') },
      'False',
      'Undone',
      `VMs are back at revision ${OLD}: too many`,
    ],
    [
      { vms: [old(1, DOWN), old(2)], state: stopped('Undoing') },
      'False',
      'UndoFailed',
      `not ready, or not back at revision ${OLD}: web-1; undone because: too many`,
    ],
    [
      {
        vms: [fresh(1), fresh(2)],
        vmis: { 'web-2': { revision: OLD } },
        spec: { updateStrategy: { proactive: { disruption: 'Live' } } },
        state: rolling({ batches: 1 }),
      },
      'False',
      'OutdatedVms',
      'web-2: it waits for a restart, which the pool leaves to users',
    ],
  ])('%#', (fields, status, reason, message) => {
    expect(conditions(fields)['Progressing']).toEqual({
      type: 'Progressing',
      status,
      reason,
      message,
      lastTransitionTime: at(NOW),
    });
  });
});

test('a rollout that is held up is looked at again when its time is over', () => {
  expect(planRollout(rolloutInput(stuck(5_000))).requeueAt).toBe(NOW + 5_000);
});

const FULL = { replicas: 2 };
test.each<[string, RolloutFields, Condition['status'], string]>([
  ['all VMs run the template', { vms: [fresh(1), fresh(2)], spec: FULL }, 'True', 'UpToDate'],
  [
    'those aside whose owners opted out',
    { vms: [fresh(1), old(2, { optedOut: true })], spec: FULL },
    'True',
    'UpToDate',
  ],
  ['VMs are missing', { vms: [fresh(1)], spec: FULL }, 'False', 'ScalingOut'],
  ['all VMs are missing', { vms: [], spec: FULL }, 'False', 'ScalingOut'],
  ['VMs are too many', { vms: [fresh(1), fresh(2), fresh(3)], spec: FULL }, 'False', 'ScalingIn'],
  [
    'VMs are too many, and stay',
    { vms: [fresh(1), fresh(2), fresh(3)], spec: { ...FULL, scaleInStrategy: { unmanaged: {} } } },
    'True',
    'UpToDate',
  ],
  [
    'VMs are left to others',
    {
      vms: [fresh(1), fresh(2)],
      vmis: { 'web-2': { revision: OLD } },
      spec: { ...FULL, updateStrategy: { opportunistic: {} } },
    },
    'False',
    'OutdatedVms',
  ],
  [
    'a failure was borne',
    {
      vms: [fresh(1), old(2)],
      spec: { ...FULL, rollout: { maxFailures: 1 } },
      state: rolling({ failures: [failure('web-2')] }),
    },
    'False',
    'UpdateFailed',
  ],
  [
    'a VM that was down before has not come up with the template either',
    {
      vms: [fresh(1), fresh(2, DOWN)],
      spec: FULL,
      state: rolling({ failures: [failure('web-2', { wasDown: true })] }),
    },
    'False',
    'UpdateFailed',
  ],
  [
    'a VM that had failed is well since',
    {
      vms: [fresh(1), fresh(2)],
      spec: { ...FULL, rollout: { maxFailures: 1 } },
      state: rolling({ failures: [failure('web-2')] }),
    },
    'True',
    'UpToDate',
  ],
  ['a rollout goes on', { vms: [fresh(1), old(2)], spec: FULL }, 'False', 'RollingOut'],
  ['a rollout has failed', { vms: [fresh(1), old(2)], spec: FULL, state: stopped('Failed') }, 'False', 'Failed'],
  ['a rollout was undone', { vms: [old(1), old(2)], spec: FULL, state: stopped('Undoing') }, 'False', 'Undone'],
])('UpToDate: %s', (_what, fields, status, reason) => {
  expect(conditions(fields)['UpToDate']).toMatchObject({ status, reason, observedGeneration: 1 });
});

test('only VMs whose owners opted out are counted as such', () => {
  const fresher = [fresh(1), fresh(2, { optedOut: true })];
  expect(conditions({ vms: fresher, spec: FULL })['UpToDate']?.message).toBe(`all VMs run revision ${NEW}`);
  const older = [fresh(1), old(2, { optedOut: true })];
  expect(conditions({ vms: older, spec: FULL })['UpToDate']?.message).toBe(
    `all VMs run revision ${NEW}, but 1 whose owner opted out`,
  );
});

test('a surplus that nothing removes is reported', () => {
  const vms = [fresh(1), fresh(2), fresh(3)];
  const message = (scaleInStrategy: PoolSpec['scaleInStrategy']): string | undefined =>
    conditions({ vms, spec: { replicas: 2, scaleInStrategy: scaleInStrategy! } })['Progressing']?.message;
  expect(message({ unmanaged: {} })).toBe(
    `3 of 2 VMs exist, of revision ${NEW}; 1 VM stays that is more than the 2 wanted: scale-in is left to users, and the pool has web-1 … web-3`,
  );
  expect(message({ opportunistic: {} })).toBe(
    `3 of 2 VMs exist, of revision ${NEW}; 1 VM stays that is more than the 2 wanted: web-1 … web-3 are not halted`,
  );
});

test('VMs that are leaving hold the places of missing VMs, and what holds them is reported', () => {
  const going = { deleting: true, ready: false };
  const vms = [
    fresh(1),
    fresh(2, { ...going, blockedBy: 'example.com/hold' }),
    fresh(3, { ...going, blockedBy: 'example.com/hold' }),
    fresh(4, going),
    fresh(5, { ...going, role: 'Standby' }),
  ];
  expect(conditions({ vms, spec: { replicas: 4 } })['Progressing']).toMatchObject({
    status: 'True',
    reason: 'ScalingOut',
    message: `1 of 4 VMs exist, of revision ${NEW}; web-2 … web-4 are being deleted, and keep their places until they are gone; web-2, web-3 held by the finalizer example.com/hold`,
  });
});

const ofCanary = (type: string, fields: RolloutFields): Condition => conditions({ vms: canary, ...fields })[type]!;

test('Paused names the user who asked for it', () => {
  const byPerson = rolling({ paused: { by: 'anna', at: at(NOW), reason: 'lunch' } });
  expect(ofCanary('Paused', {})).toMatchObject({ status: 'False', reason: 'NotPaused' });
  expect(ofCanary('Paused', { spec: { paused: true } })).toMatchObject({ status: 'True', reason: 'PausedBySpec' });
  expect(ofCanary('Paused', { state: byPerson, spec: { paused: true } })).toMatchObject({
    status: 'True',
    reason: 'PausedByUser',
    message: 'by anna: lunch',
  });
});

test('Degraded names the VMs that have failed, and the consequence', () => {
  const degraded: [RolloutFields, Partial<Condition>][] = [
    [{}, { status: 'False', reason: 'NoFailures' }],
    [
      {
        spec: { rollout: { maxFailures: 2 } },
        state: rolling({ failures: [failure('web-1'), failure('web-2')] }),
        vms: [fresh(1, DOWN), fresh(2, DOWN), old(3)],
      },
      { status: 'True', reason: 'UpdateFailed', message: 'web-1: not ready in time; web-2: not ready in time' },
    ],
    [
      {
        spec: { rollout: { maxFailures: 3 } },
        state: rolling({ failures: ['web-1', 'web-2', 'web-3'].map((name) => failure(name)) }),
        // One is well, one was made anew since, and one is gone.
        vms: [fresh(1), fresh(2, { ...DOWN, createdAt: NOW }), old(4)],
      },
      { status: 'False', reason: 'NoFailures' },
    ],
    [{ state: stopped('Failed') }, { status: 'True', reason: 'Failed', message: 'too many' }],
    [{ state: stopped('Undoing') }, { status: 'True', reason: 'Undoing' }],
    [
      { state: stopped('Undoing'), vms: [old(1)] },
      { status: 'True', reason: 'Undone' },
    ],
    [{ state: stopped('UndoFailed') }, { status: 'True', reason: 'UndoFailed' }],
    [
      { state: stopped('Undoing'), vms: [old(1, DOWN)] },
      { status: 'True', reason: 'UndoFailed' },
    ],
    [{ state: stopped('Aborted') }, { status: 'False' }],
  ];
  for (const [fields, expected] of degraded) expect(ofCanary('Degraded', fields)).toMatchObject(expected);
});

test('the time of a condition is that of its last change of status', () => {
  const before = at(NOW - 60_000);
  const status = {
    conditions: ['Progressing', 'Paused', 'Degraded'].map((type): Condition => ({
      type,
      status: 'True',
      reason: 'Before',
      message: '',
      lastTransitionTime: before,
    })),
  };
  const { Progressing, Paused, Degraded } = conditions({ vms: canary, status });
  expect([Progressing, Paused, Degraded].map((condition) => condition?.lastTransitionTime)).toEqual([
    before,
    at(NOW),
    at(NOW),
  ]);
});
