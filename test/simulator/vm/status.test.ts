import { describe, expect, test } from 'vitest';
import { vmStatus, type ResourceVersions } from '../../../simulator/vm/status.ts';
import { at, condition, aVmi, aVm, NOW, passed } from '../simulated.ts';

const seen = (some: Partial<ResourceVersions>): ResourceVersions => ({
  vm: aVm(),
  vmi: undefined,
  dataVolumePhases: [],
  unboundClaim: false,
  restartRequired: 'none',
  failure: undefined,
  now: NOW,
  random: 0,
  backoffFactor: 1,
  ...some,
});
const shown = (some: Partial<ResourceVersions>): string | undefined => vmStatus(seen(some)).printableStatus;

const ready = { ...passed('Pending', 'Running'), conditions: [condition('Ready', 'True')] };
const failure = { consecutiveFailCount: 1, lastFailedVMIUID: 'vmi-uid', retryAfterTimestamp: at(10) };
const leaving = { deletionTimestamp: at(0) };
const moving = { ...ready, migrationState: { startTimestamp: at(0) } };

describe('printableStatus', () => {
  test.each([
    ['Stopped', {}],
    ['Stopped', { vm: aVm({ runStrategy: 'Halted' }) }],
    ['Provisioning', { dataVolumePhases: ['ImportInProgress'] }],
    ['Provisioning', { dataVolumePhases: ['Succeeded', undefined] }],
    ['DataVolumeError', { dataVolumePhases: ['ImportInProgress', 'Failed'] }],
    ['WaitingForVolumeBinding', { unboundClaim: true }],
    ['Stopped', { unboundClaim: true, vm: aVm({ runStrategy: 'Halted' }) }],
    ['Starting', { starting: true }],
    ['Starting', { starting: true, vm: aVm(undefined, { startFailure: failure }) }],
    ['Starting', { vmi: aVmi('Pending') }],
    ['Starting', { vmi: aVmi('Scheduled') }],
    [
      'ErrorUnschedulable',
      { vmi: aVmi('Scheduling', { conditions: [condition('PodScheduled', 'False', 'Unschedulable')] }) },
    ],
    [
      'ErrorPvcNotFound',
      {
        vmi: aVmi('Pending', {
          conditions: [
            condition('PodScheduled', 'False', 'Unschedulable'),
            condition('Synchronized', 'False', 'FailedPvcNotFound'),
          ],
        }),
      },
    ],
    ['Running', { vmi: aVmi('Running', ready) }],
    ['Running', { vmi: aVmi('Running', ready), dataVolumePhases: ['Failed'] }],
    ['Paused', { vmi: aVmi('Running', { ...ready, conditions: [condition('Paused', 'True')] }) }],
    ['Migrating', { vmi: aVmi('Running', moving) }],
    [
      'Running',
      { vmi: aVmi('Running', { ...ready, migrationState: { startTimestamp: at(-9), endTimestamp: at(-8) } }) },
    ],
    ['Stopping', { vmi: aVmi('Running', moving, leaving) }],
    ['Terminating', { vmi: aVmi('Running', ready, leaving), vm: aVm(undefined, {}, leaving) }],
    ['CrashLoopBackOff', { vmi: aVmi('Failed', passed('Pending')) }],
    ['CrashLoopBackOff', { vm: aVm({ runStrategy: 'Once' }, { startFailure: failure }) }],
    ['Starting', { vm: aVm(undefined, { startFailure: failure }), vmi: aVmi('Pending', {}, { uid: 'next' }) }],
    ['Stopped', { vm: aVm({ runStrategy: 'Manual' }, { startFailure: failure }) }],
    ['Stopped', { vmi: aVmi('Succeeded', passed('Running', 'Succeeded')) }],
  ] as [string, Partial<ResourceVersions>][])('%s', (expected, some) => {
    expect(shown(some)).toBe(expected);
  });
});

describe('conditions', () => {
  test('say that the VM is not ready without an instance, and why', () => {
    const { conditions, ...status } = vmStatus(seen({}));
    expect(status).not.toHaveProperty('ready');
    expect(status).not.toHaveProperty('created');
    expect(conditions).toEqual([
      {
        type: 'Ready',
        status: 'False',
        reason: 'VMINotExists',
        message: 'VMI does not exist',
        lastProbeTime: at(0),
        lastTransitionTime: at(0),
      },
    ]);
  });

  test("are the instance's", () => {
    const conditions = [
      condition('Ready', 'True'),
      condition('LiveMigratable', 'True'),
      condition('RestartRequired', 'True'),
    ];
    const status = vmStatus(seen({ vmi: aVmi('Running', { ...ready, conditions }) }));
    expect(status.ready).toBe(true);
    expect(status.conditions).toEqual(conditions.slice(0, 2));
  });

  test('from elsewhere go', () => {
    const foreign = condition('SomebodysOwn', 'True');
    const status = vmStatus(seen({ vm: aVm(undefined, { conditions: [foreign] }), vmi: aVmi('Running', ready) }));
    expect(status.conditions?.map(({ type }) => type)).toEqual(['Ready']);
  });

  test('whose status and reason stay keep their times', () => {
    const before = vmStatus(seen({}));
    const after = vmStatus(seen({ vm: aVm(undefined, before), now: NOW + 60_000 }));
    expect(after).toBe(before);
  });

  test('from an instance stay as long as there is none', () => {
    const migratable = condition('LiveMigratable', 'True');
    const status = vmStatus(seen({ vm: aVm(undefined, { conditions: [migratable, condition('Failure', 'True')] }) }));
    expect(status.conditions?.map(({ type }) => type)).toEqual(['LiveMigratable', 'Ready']);
  });

  test('include RestartRequired with a message and no reason, until it no longer applies', () => {
    const first = vmStatus(seen({ vmi: aVmi('Running', ready), restartRequired: { message: 'why' } }));
    expect(first.conditions).toContainEqual({
      type: 'RestartRequired',
      status: 'True',
      message: 'why',
      lastProbeTime: null,
      lastTransitionTime: at(0),
    });
    const second = vmStatus(seen({ vm: aVm(undefined, first), vmi: aVmi('Running', ready) }));
    expect(second.conditions?.map(({ type }) => type)).toEqual(['Ready']);
  });

  test.each([
    ['keeps its first time and message', { message: 'another' } as const, 'why', at(0)],
    ['that is set again has another time and message', { message: 'another', isNew: true } as const, 'another', at(60)],
    ['that nobody has looked at stays', 'kept' as const, 'why', at(0)],
  ])('RestartRequired %s', (_what, restartRequired, message, lastTransitionTime) => {
    const before = vmStatus(seen({ vmi: aVmi('Running', ready), restartRequired: { message: 'why' } }));
    for (const vmi of [aVmi('Running', ready), undefined]) {
      const after = vmStatus(seen({ vm: aVm(undefined, before), vmi: vmi, restartRequired, now: NOW + 60_000 }));
      expect(after.conditions).toContainEqual(
        expect.objectContaining({ type: 'RestartRequired', message, lastTransitionTime }),
      );
    }
  });

  test('include Failure with what kept the VM from starting', () => {
    const { conditions } = vmStatus(seen({ failure: { reason: 'FailedCreate', message: 'exceeded quota' } }));
    expect(conditions).toContainEqual(
      expect.objectContaining({ type: 'Failure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' }),
    );
  });
});

test('generations are those of the VM and of the instance that was made from it', () => {
  const made = aVmi('Running', ready, { annotations: { 'kubevirt.io/vm-generation': '2' } });
  expect(vmStatus(seen({ vmi: made }))).toMatchObject({ observedGeneration: 2, desiredGeneration: 3 });
});

test('the run strategy shows once the VM has been started', () => {
  expect(vmStatus(seen({})).runStrategy).toBeUndefined();
  const started = vmStatus(seen({ vmi: aVmi('Pending') }));
  expect(started.runStrategy).toBe('Always');
  expect(vmStatus(seen({ vm: aVm({ runStrategy: 'Halted' }, started) })).runStrategy).toBe('Halted');
});
