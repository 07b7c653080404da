import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { aboutVm, actionsTable, grouped } from '../../../clients/history/table.ts';
import { anAct } from '../../decisions/history/acts.ts';

test('acts that differ in their VMs alone have one row, and acts of one VM have several', () => {
  const actions = [
    anAct({ vms: ['web-1'] }),
    anAct({ vms: ['web-3'], end: 'Failed', message: 'not ready in time' }),
    anAct({ vms: ['web-2'] }),
    anAct({ action: 'pause', vms: [], end: 'Requested' }),
  ];
  expect(grouped(actions).map(({ vms, end }) => [end, vms])).toEqual([
    ['Updated', ['web-1', 'web-2']],
    ['Failed', ['web-3']],
    ['Requested', []],
  ]);
  expect(aboutVm([anAct({ vms: ['web-1', 'web-2'] }), anAct({ vms: ['web-10'] })], 'web-1')).toEqual([
    anAct({ vms: ['web-1'] }),
  ]);
});

test('requests by two users at the same time have two rows', () =>
  expect(grouped([anAct({ vms: [] }), anAct({ vms: [] })])).toHaveLength(2));

test('a table says why an act ended, or else why it was done', () => {
  const actions = [
    anAct({ vms: ['web-1', 'web-2', 'web-3'], end: 'Failed', message: 'not ready in time' }),
    anAct({
      action: 'create',
      vms: ['web-4'],
      from: null,
      requestedBy: 'drover',
      reason: 'create web-4: 1 missing of 4',
    }),
    anAct({ action: 'pause', vms: [], from: null, to: null, end: 'Requested', reason: null, requestedBy: null }),
  ];
  const lines = actionsTable(actions, 'VM');
  expect(lines.map((line) => stripVTControlCharacters(line).split(/ {2,}/))).toEqual([
    ['TIME', 'ACTION', 'VMS', 'FROM', 'TO', 'REQUESTED BY', 'END', 'WHY'],
    ['2026-01-01T00:00:00Z', 'restart', 'web-1 … web-3', 'a', 'b', 'ada@desk', 'Failed', 'not ready in time'],
    ['2026-01-01T00:00:00Z', 'create', 'web-4', '<none>', 'b', 'drover', 'Updated', '1 missing of 4'],
    ['2026-01-01T00:00:00Z', 'pause', '<pool>', '<none>', '<none>', '<unknown>', 'Requested'],
  ]);
  expect(stripVTControlCharacters(actionsTable(actions, 'VMI')[0]!).split(/ {2,}/)[2]).toBe('VMIS');
});
