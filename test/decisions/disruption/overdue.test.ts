import { expect, test } from 'vitest';
import { overdueAt, USUAL_MS, withOverdue } from '../../../decisions/disruption/overdue.ts';
import { whyNotNow } from '../../../decisions/disruption/reasons.ts';
import { vmiOperations, vmOperations } from '../../../decisions/from-object/operations.ts';
import type { Operation } from '../../../decisions/views/operation.ts';
import { aVm } from '../fixtures/fleets.ts';

const SINCE = '2026-11-28T12:00:00Z';
const since = Date.parse(SINCE);
const on = (type: string) => ({ conditions: [{ type, status: 'True' as const, lastTransitionTime: SINCE }] });

test.each<[readonly Operation[], Operation[]]>([
  [vmOperations(on('ManualRecoveryRequired')), [{ kind: 'ManualRecovery', object: null, since }]],
  [vmOperations(on('VolumesChange')), [{ kind: 'VolumeMigration', object: null, since }]],
  [vmiOperations(on('VolumesChange')), [{ kind: 'VolumeMigration', object: null, since }]],
  [
    vmOperations({ memoryDumpRequest: { phase: 'InProgress', startTimestamp: SINCE } }),
    [{ kind: 'MemoryDump', object: null, since }],
  ],
  [
    vmiOperations({ changedBlockTracking: { backupStatus: { backupName: 'b', startTimestamp: SINCE } } }),
    [{ kind: 'Backup', object: 'b', since }],
  ],
  [
    vmOperations({ volumeRequests: [{ removeVolumeOptions: { name: 'data' } }] }),
    [{ kind: 'Hotplug', object: 'data' }],
  ],
  [
    vmiOperations({ volumeStatus: [{ name: 'root' }, { name: 'data', hotplugVolume: {}, phase: 'Detaching' }] }),
    [{ kind: 'Hotplug', object: 'data' }],
  ],
])('a status says since when an operation lasts, or what it is about: %j', (operations, expected) => {
  expect(operations).toEqual(expected);
});

test('an operation is overdue once it has lasted for the usual time of its kind, and the reason says so', () => {
  for (const kind of Object.keys(USUAL_MS) as Operation['kind'][]) {
    if ((kind as string) === 'Migration') continue;
    const operations: readonly Operation[] = [{ kind, object: 'it', since }];
    const due = overdueAt(operations[0]!);
    expect(withOverdue(operations, due - 1)).toBe(operations);
    expect(withOverdue(operations, due)).toEqual([{ kind, object: 'it', since, isOverdue: true }]);
    const reason = whyNotNow(aVm('web-1', { operations: withOverdue(operations, due) }), undefined);
    if (kind !== 'ManualRecovery' && kind !== 'Hotplug' && kind !== 'MemoryDump')
      expect(reason).toMatchObject({ isOverdue: true, message: expect.stringMatching(/, since 2026.*longer than/) });
  }
  expect(overdueAt({ kind: 'Hotplug', object: null })).toBe(Infinity);
});
