import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { maxUnavailableOf, unavailability } from '../../../decisions/disruption-budget/unavailability.ts';
import { isDown, isMeantToRun, runsByItself, type VmiOf } from '../../../decisions/health/availability.ts';
import { isRegular, type VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi } from '../fixtures/fleets.ts';

const gone = { hasVmi: false, ready: false } as const;
const vmiOf: VmiOf = (vm) => (vm.hasVmi ? aVmi(vm) : undefined);

describe('a VM is meant to run', () => {
  const running = {};
  const succeeded = { phase: 'Succeeded', ready: false };
  const failed = { phase: 'Failed', ready: false };
  const stopping = { deleting: true };
  test.each<[string, string, Partial<VmiView> | null, Partial<VmView>, boolean]>([
    ['whatever its VMI does', 'Always', null, {}, true],
    ['whatever its VMI does', 'Always', failed, {}, true],
    ['never', 'Halted', running, {}, false],
    ['never', 'WaitAsReceiver', null, {}, false],
    ['until it has ended', 'Once', null, {}, true],
    ['until it has ended', 'Once', running, {}, true],
    ['until it has ended', 'Once', succeeded, {}, false],
    ['until it has ended', 'Once', failed, {}, false],
    ['again, when the VMI that has ended goes', 'Once', { ...failed, ...stopping }, {}, true],
    ['while its VMI runs', 'RerunOnFailure', running, {}, true],
    ['also while it comes back from a failure', 'RerunOnFailure', failed, {}, true],
    [
      'also while it comes back from a failure',
      'RerunOnFailure',
      null,
      { state: 'CrashLoopBackOff', changingState: true },
      true,
    ],
    ['not once it has ended well', 'RerunOnFailure', succeeded, {}, false],
    ['while it restarts', 'RerunOnFailure', { ...succeeded, ...stopping }, { changingState: true }, true],
    [
      'while its next VMI is not in the cache',
      'RerunOnFailure',
      { ...succeeded, ...stopping },
      { state: 'Starting' },
      true,
    ],
    [
      'not while the VMI that has ended well goes',
      'RerunOnFailure',
      { ...succeeded, ...stopping },
      { state: 'Stopping' },
      false,
    ],
    ['not once it was stopped', 'RerunOnFailure', null, { state: 'Stopped' }, false],
    ['not once it was stopped, whatever its disks are', 'RerunOnFailure', null, { state: 'DataVolumeError' }, false],
    ['not once it was stopped, whatever its disks are', 'RerunOnFailure', null, { state: 'Provisioning' }, false],
    ['when it is asked to start', 'RerunOnFailure', null, { state: 'Stopped', changingState: true }, true],
    [
      'when it has never run, whatever its disks are',
      'RerunOnFailure',
      null,
      { state: 'Provisioning', lastRunStrategy: null },
      true,
    ],
    [
      'when that is its new run strategy',
      'RerunOnFailure',
      null,
      { state: 'Stopped', lastRunStrategy: 'Halted' },
      true,
    ],
    ['while its first VMI is not in the cache', 'RerunOnFailure', null, { state: 'Starting' }, true],
    ['while its VMI is not in the cache', 'RerunOnFailure', null, { state: 'Running', hasVmi: true }, true],
    ['while its VMI runs', 'Manual', running, {}, true],
    ['not while it stops', 'Manual', stopping, { state: 'Stopping' }, false],
    ['while a restart has not been seen of the VM yet', 'Manual', stopping, { state: 'Running' }, true],
    [
      'while the end of a restart has not been seen of its VMI yet',
      'Manual',
      stopping,
      { state: 'Starting', ready: false },
      true,
    ],
    ['while it restarts', 'Manual', stopping, { changingState: true }, true],
    ['while its next VMI is not in the cache', 'Manual', { ...failed, ...stopping }, { state: 'Starting' }, true],
    ['not once it has crashed', 'Manual', failed, {}, false],
    ['not without a VMI', 'Manual', null, {}, false],
    ['when it is asked to start', 'Manual', null, { changingState: true }, true],
  ])('%s (%s)', (_when, runStrategy, fields, more, expected) => {
    const vm = aVm('web-1', { runStrategy, ...(fields === null ? gone : {}), ...more });
    expect(isMeantToRun(vm, fields === null ? undefined : aVmi(vm, fields))).toBe(expected);
  });
});

test('a VM is down unless KubeVirt says that both the VM and its VMI are ready', () => {
  const vm = aVm('web-1');
  expect(isDown(vm, aVmi(vm))).toBe(false);
  expect(isDown(vm, undefined)).toBe(true);
  expect(isDown(vm, aVmi(vm, { ready: false }))).toBe(true);
  expect(isDown(vm, aVmi(vm, { deleting: true }))).toBe(true);
  const late = aVm('web-1', { ready: false });
  expect(isDown(late, aVmi(late, { ready: true }))).toBe(true);
  expect(isDown(aVm('web-1', { runStrategy: 'Halted', ...gone }), undefined)).toBe(false);
});

test.each<[NonNullable<PoolSpec['maxUnavailable']> | undefined, number, number]>([
  [undefined, 8, 2],
  [undefined, 3, 1],
  [undefined, 0, 1],
  ['10%', 25, 2],
  ['10%', 9, 1],
  ['100%', 4, 4],
  [3, 2, 3],
])('maxUnavailable %j of %i VMs is %i', (maxUnavailable, replicas, expected) => {
  expect(maxUnavailableOf(aPool({ replicas, ...(maxUnavailable === undefined ? {} : { maxUnavailable }) }))).toBe(
    expected,
  );
});

test.each<[NonNullable<PoolSpec['maxUnavailable']> | undefined, number, number]>([
  [undefined, 1, 0],
  [undefined, 3, 0],
  [undefined, 4, 1],
  ['10%', 9, 0],
  [0, 9, 0],
  [1, 1, 1],
])('with maxSurge, maxUnavailable %j of %i VMs is %i, as in a Deployment', (maxUnavailable, replicas, expected) => {
  const spec = { replicas, maxSurge: 1, ...(maxUnavailable === undefined ? {} : { maxUnavailable }) };
  expect(maxUnavailableOf(aPool(spec))).toBe(expected);
});

test.each<[PoolSpec['template']['spec'], boolean]>([
  [{ runStrategy: 'Always', template: {} }, true],
  [{ running: true, template: {} }, true],
  [{ runStrategy: 'Once', template: {} }, true],
  [{ runStrategy: 'RerunOnFailure', template: {} }, true],
  [{ runStrategy: 'Manual', template: {} }, false],
  [{ runStrategy: 'Halted', template: {} }, false],
  [{ running: false, template: {} }, false],
])('VMs of %j run by themselves: %s', (spec, expected) => {
  expect(runsByItself({ spec })).toBe(expected);
});

const count = (vms: VmView[], inProgress: string[] = [], spec: Partial<PoolSpec> = {}): number =>
  unavailability({ pool: aPool({ replicas: vms.length, ...spec }), vms: vms.filter(isRegular), vmiOf, inProgress })
    .count;

describe('unavailable VMs', () => {
  test('include all that should run and are not ready, whatever the cause', () => {
    expect(count([aVm('web-1'), aVm('web-2', { ready: false }), aVm('web-3', gone)])).toBe(2);
  });

  test('do not include those that a user has stopped', () => {
    expect(count([aVm('web-1'), aVm('web-2', { runStrategy: 'Halted', ...gone })])).toBe(0);
  });

  test('include those in progress, each once', () => {
    expect(count([aVm('web-1'), aVm('web-2', { ready: false })], ['web-1', 'web-2'])).toBe(2);
  });

  test('include missing VMs if VMs run by themselves', () => {
    const manual = { spec: { runStrategy: 'Manual', template: {} } };
    expect(count([aVm('web-1')], [], { replicas: 3 })).toBe(2);
    expect(count([aVm('web-1')], [], { replicas: 3, template: manual })).toBe(0);
    expect(count([aVm('web-1'), aVm('web-2')], [], { replicas: 1 })).toBe(0);
  });

  test('include a VM that is replaced once, while it is not there', () => {
    expect(count([aVm('web-1')], ['web-2'], { replicas: 2 })).toBe(1);
    expect(count([aVm('web-1')], ['web-2'], { replicas: 3 })).toBe(2);
  });
});
