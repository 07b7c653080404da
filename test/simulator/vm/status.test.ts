import { describe, expect, test } from 'vitest';
import { machineStatus, type Seen } from '../../../simulator/vm/status.ts';
import { at, condition, instance, machine, NOW, passed } from '../simulated.ts';

const seen = (some: Partial<Seen>): Seen => ({
  machine: machine(),
  instance: undefined,
  dataVolumePhases: [],
  unboundClaim: false,
  restartRequired: 'none',
  failure: undefined,
  now: NOW,
  random: 0,
  backoffFactor: 1,
  ...some,
});
const shown = (some: Partial<Seen>): string | undefined => machineStatus(seen(some)).printableStatus;

const ready = { ...passed('Pending', 'Running'), conditions: [condition('Ready', 'True')] };
const failure = { consecutiveFailCount: 1, lastFailedVMIUID: 'vmi-uid', retryAfterTimestamp: at(10) };
const leaving = { deletionTimestamp: at(0) };
const moving = { ...ready, migrationState: { startTimestamp: at(0) } };

describe('printableStatus', () => {
  test.each([
    ['Stopped', {}],
    ['Stopped', { machine: machine({ runStrategy: 'Halted' }) }],
    ['Provisioning', { dataVolumePhases: ['ImportInProgress'] }],
    ['Provisioning', { dataVolumePhases: ['Succeeded', undefined] }],
    ['DataVolumeError', { dataVolumePhases: ['ImportInProgress', 'Failed'] }],
    ['WaitingForVolumeBinding', { unboundClaim: true }],
    ['Stopped', { unboundClaim: true, machine: machine({ runStrategy: 'Halted' }) }],
    ['Starting', { starting: true }],
    ['Starting', { starting: true, machine: machine(undefined, { startFailure: failure }) }],
    ['Starting', { instance: instance('Pending') }],
    ['Starting', { instance: instance('Scheduled') }],
    [
      'ErrorUnschedulable',
      { instance: instance('Scheduling', { conditions: [condition('PodScheduled', 'False', 'Unschedulable')] }) },
    ],
    [
      'ErrorPvcNotFound',
      {
        instance: instance('Pending', {
          conditions: [
            condition('PodScheduled', 'False', 'Unschedulable'),
            condition('Synchronized', 'False', 'FailedPvcNotFound'),
          ],
        }),
      },
    ],
    ['Running', { instance: instance('Running', ready) }],
    ['Running', { instance: instance('Running', ready), dataVolumePhases: ['Failed'] }],
    ['Paused', { instance: instance('Running', { ...ready, conditions: [condition('Paused', 'True')] }) }],
    ['Migrating', { instance: instance('Running', moving) }],
    [
      'Running',
      { instance: instance('Running', { ...ready, migrationState: { startTimestamp: at(-9), endTimestamp: at(-8) } }) },
    ],
    ['Stopping', { instance: instance('Running', moving, leaving) }],
    ['Terminating', { instance: instance('Running', ready, leaving), machine: machine(undefined, {}, leaving) }],
    ['CrashLoopBackOff', { instance: instance('Failed', passed('Pending')) }],
    ['CrashLoopBackOff', { machine: machine({ runStrategy: 'Once' }, { startFailure: failure }) }],
    [
      'Starting',
      { machine: machine(undefined, { startFailure: failure }), instance: instance('Pending', {}, { uid: 'next' }) },
    ],
    ['Stopped', { machine: machine({ runStrategy: 'Manual' }, { startFailure: failure }) }],
    ['Stopped', { instance: instance('Succeeded', passed('Running', 'Succeeded')) }],
  ] as [string, Partial<Seen>][])('%s', (expected, some) => {
    expect(shown(some)).toBe(expected);
  });
});

describe('conditions', () => {
  test('without an instance the VM is not ready, and says why', () => {
    const { conditions, ...status } = machineStatus(seen({}));
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

  test("the instance's conditions are the VM's", () => {
    const conditions = [
      condition('Ready', 'True'),
      condition('LiveMigratable', 'True'),
      condition('RestartRequired', 'True'),
    ];
    const status = machineStatus(seen({ instance: instance('Running', { ...ready, conditions }) }));
    expect(status.ready).toBe(true);
    expect(status.conditions).toEqual(conditions.slice(0, 2));
  });

  test('one that came from elsewhere goes', () => {
    const foreign = condition('SomebodysOwn', 'True');
    const status = machineStatus(
      seen({ machine: machine(undefined, { conditions: [foreign] }), instance: instance('Running', ready) }),
    );
    expect(status.conditions?.map(({ type }) => type)).toEqual(['Ready']);
  });

  test('one whose status and reason stay keeps its times', () => {
    const before = machineStatus(seen({}));
    const after = machineStatus(seen({ machine: machine(undefined, before), now: NOW + 60_000 }));
    expect(after).toBe(before);
  });

  test('those that came from an instance stay as long as there is none', () => {
    const migratable = condition('LiveMigratable', 'True');
    const status = machineStatus(
      seen({ machine: machine(undefined, { conditions: [migratable, condition('Failure', 'True')] }) }),
    );
    expect(status.conditions?.map(({ type }) => type)).toEqual(['LiveMigratable', 'Ready']);
  });

  test('RestartRequired has a message and no reason, and goes when it is no longer so', () => {
    const first = machineStatus(seen({ instance: instance('Running', ready), restartRequired: { why: 'why' } }));
    expect(first.conditions).toContainEqual({
      type: 'RestartRequired',
      status: 'True',
      message: 'why',
      lastProbeTime: null,
      lastTransitionTime: at(0),
    });
    const second = machineStatus(seen({ machine: machine(undefined, first), instance: instance('Running', ready) }));
    expect(second.conditions?.map(({ type }) => type)).toEqual(['Ready']);
  });

  test.each([
    ['keeps its first time and message', { why: 'another' } as const, 'why', at(0)],
    ['that is set anew has another time and message', { why: 'another', anew: true } as const, 'another', at(60)],
    ['that nobody has looked at stays', 'kept' as const, 'why', at(0)],
  ])('RestartRequired %s', (_what, restartRequired, message, lastTransitionTime) => {
    const before = machineStatus(seen({ instance: instance('Running', ready), restartRequired: { why: 'why' } }));
    for (const guest of [instance('Running', ready), undefined]) {
      const after = machineStatus(
        seen({ machine: machine(undefined, before), instance: guest, restartRequired, now: NOW + 60_000 }),
      );
      expect(after.conditions).toContainEqual(
        expect.objectContaining({ type: 'RestartRequired', message, lastTransitionTime }),
      );
    }
  });

  test('what kept the VM from starting shows as Failure', () => {
    const { conditions } = machineStatus(seen({ failure: { reason: 'FailedCreate', message: 'exceeded quota' } }));
    expect(conditions).toContainEqual(
      expect.objectContaining({ type: 'Failure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' }),
    );
  });
});

test('generations are those of the VM and of the instance that was made from it', () => {
  const made = instance('Running', ready, { annotations: { 'kubevirt.io/vm-generation': '2' } });
  expect(machineStatus(seen({ instance: made }))).toMatchObject({ observedGeneration: 2, desiredGeneration: 3 });
});

test('the run strategy shows once the VM has been started', () => {
  expect(machineStatus(seen({})).runStrategy).toBeUndefined();
  const started = machineStatus(seen({ instance: instance('Pending') }));
  expect(started.runStrategy).toBe('Always');
  expect(machineStatus(seen({ machine: machine({ runStrategy: 'Halted' }, started) })).runStrategy).toBe('Halted');
});
