import { expect, test } from 'vitest';
import { deferred, excluded } from '../../../decisions/disruption/need.ts';
import { isPausedByPerson } from '../../../decisions/disruption/pause.ts';
import { reasonsOf, whyNotNow, type Reason } from '../../../decisions/disruption/reasons.ts';
import { vmiOperations, vmOperations } from '../../../decisions/from-object/operations.ts';
import { powerNeed } from '../../../decisions/power/need.ts';
import { NO_OPERATIONS, type Operation } from '../../../decisions/views/operation.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi, BY_USER, IO_ERROR, SNAPSHOT } from '../fixtures/fleets.ts';

const on = (type: string, status: 'True' | 'False' = 'True') => ({ conditions: [{ type, status }] });
const doing = (kind: Operation['kind']): readonly Operation[] => [{ kind, object: null }];

test.each<[Reason['kind'], Partial<VmView>, Partial<VmiView>]>([
  ['OptedOut', { optedOut: true }, {}],
  ['Snapshot', { operations: SNAPSHOT }, {}],
  ['Restore', { operations: doing('Restore') }, {}],
  ['ManualRecovery', { operations: doing('ManualRecovery') }, {}],
  ['Backup', {}, { operations: [{ kind: 'Backup', object: 'nightly' }] }],
  ['VolumeMigration', {}, { operations: doing('VolumeMigration') }],
  ['Receives', { runStrategy: 'WaitAsReceiver' }, {}],
  ['Paused', {}, { pause: BY_USER }],
  ['Paused', { role: 'Surge' }, { pause: BY_USER }],
  ['Migrates', {}, { migration: { name: 'm', phase: 'Pending', createdAt: 0 } }],
])('%s holds a VM, and a stop of it by hand', (kind, vmFields, vmiFields) => {
  const vm = aVm('web-1', vmFields);
  const vmi = aVmi(vm, vmiFields);
  const reason = whyNotNow(vm, vmi);
  expect(reason?.kind).toBe(kind);
  const need = powerNeed('Stop', { target: vm.uid, vm, vmi, owner: undefined });
  // KubeVirt has no VM that receives a migration stopped.
  if (kind !== 'Receives') expect(need).toMatchObject((kind === 'OptedOut' ? excluded : deferred)(reason!.message));
});

test('only a named reason holds a VM: a pause by QEMU or by drover does not', () => {
  const vm = aVm('web-1');
  expect(reasonsOf(vm, undefined)).toEqual([]);
  expect(reasonsOf(vm, aVmi(vm, { pause: IO_ERROR, ready: false }))).toEqual([]);
  const standby = aVm('web-1', { role: 'Standby' });
  expect(isPausedByPerson(standby, aVmi(standby, { pause: BY_USER }))).toBe(false);
});

test.each(['MemoryDump', 'Hotplug'] as const)('%s holds a VM only while it has a VMI', (kind) => {
  const vm = aVm('web-1', { operations: doing(kind) });
  expect(whyNotNow(vm, aVmi(vm))?.kind).toBe(kind);
  expect(whyNotNow({ ...vm, hasVmi: true }, undefined)?.kind).toBe(kind);
  expect(whyNotNow({ ...vm, hasVmi: false, runStrategy: 'Halted' }, undefined)).toBeNull();
});

test('the reason on a VM names the object that asks for it', () => {
  expect(vmOperations({ snapshotInProgress: 'a' })).toEqual([{ kind: 'Snapshot', object: 'a' }]);
  expect(vmOperations({ restoreInProgress: 'b' })).toEqual([{ kind: 'Restore', object: 'b' }]);
  expect(vmOperations(on('ManualRecoveryRequired'))).toEqual(doing('ManualRecovery'));
  expect(vmOperations(on('VolumesChange'))).toEqual(doing('VolumeMigration'));
  expect(vmOperations({ memoryDumpRequest: { phase: 'InProgress' } })).toEqual(doing('MemoryDump'));
  expect(vmOperations({ volumeRequests: [{}] })).toEqual(doing('Hotplug'));
  expect(vmOperations({ memoryDumpRequest: { phase: 'Completed' }, volumeRequests: [], ...on('Ready') })).toBe(
    NO_OPERATIONS,
  );
});

const backup = (backupStatus: object) => vmiOperations({ changedBlockTracking: { backupStatus } });

const plugged = (phase: string) => vmiOperations({ volumeStatus: [{ hotplugVolume: {}, phase }] });

test('a VMI names a backup until that is complete, and volumes until they are moved or the move is called off', () => {
  expect(backup({ backupName: 'nightly' })).toEqual([{ kind: 'Backup', object: 'nightly' }]);
  expect(backup({ backupName: 'nightly', completed: true })).toBe(NO_OPERATIONS);
  expect(backup({})).toBe(NO_OPERATIONS);
  expect(vmiOperations(on('VolumesChange'))).toEqual(doing('VolumeMigration'));
  expect(vmiOperations({ migratedVolumes: [{}] })).toEqual(doing('VolumeMigration'));
  expect(vmiOperations({ migratedVolumes: [{}], ...on('VolumesChange', 'False') })).toBe(NO_OPERATIONS);
  expect(vmiOperations({ fsFreezeStatus: 'frozen' })).toEqual(doing('Freeze'));
  expect(plugged('AttachedToNode')).toEqual(doing('Hotplug'));
  expect(plugged('Ready')).toBe(NO_OPERATIONS);
});
