import { describe, expect, test } from 'vitest';
import { reportOf, type ReportedVm, type ReportInput, type ReportRow } from '../../../clients/machine-types/report.ts';
import type { TransitionRecord } from '../../../decisions/views/annotations/transition-record.ts';

const [OLD, NEW] = ['pc-q35-rhel8.2.0', 'pc-q35-rhel9.2.0'];
const ID = '1f0c92ab';
const record = (fields: Partial<TransitionRecord> = {}): TransitionRecord => ({
  id: ID,
  from: OLD,
  to: NEW,
  vmiType: OLD,
  at: '2026-01-01T00:00:00Z',
  ...fields,
});
const vm = (fields: Partial<ReportedVm> = {}): ReportedVm => ({
  namespace: 'shop',
  name: 'db',
  machineType: NEW,
  transition: record(),
  transitionLabel: null,
  vmiType: null,
  ...fields,
});
const report = (vms: ReportedVm[], fields: Partial<ReportInput> = {}): ReportRow[] =>
  reportOf({ id: ID, vms, progress: null, changed: [], ...fields });

describe('the report of a transition', () => {
  test.each<[string, Partial<ReportedVm>, Pick<ReportRow, 'state' | 'message'>]>([
    ['it is stopped', {}, { state: 'Done', message: null }],
    ['its VMI has the new type', { vmiType: NEW, transitionLabel: ID }, { state: 'Done', message: null }],
    [
      'it was stopped then, and runs',
      { transition: record({ vmiType: null }), vmiType: NEW },
      { state: 'Done', message: null },
    ],
    [
      'its VMI had the new type already',
      { transition: record({ vmiType: NEW }), vmiType: NEW },
      { state: 'Done', message: null },
    ],
    [
      'its VMI has the old type',
      { vmiType: OLD, transitionLabel: ID },
      { state: 'Waiting', message: `its VMI still has ${OLD}` },
    ],
    [
      'nobody waits for it any more',
      { vmiType: OLD },
      { state: 'Waiting', message: `its VMI still has ${OLD}, and nothing waits for its restart any more` },
    ],
    [
      'an alias, whose VMI is old',
      { transition: record({ from: 'q35', to: 'q35' }), machineType: 'q35', vmiType: OLD, transitionLabel: ID },
      { state: 'Waiting', message: `its VMI still has ${OLD}` },
    ],
    [
      'an alias, whose VMI is new',
      { transition: record({ from: 'q35', to: 'q35' }), machineType: 'q35', vmiType: NEW },
      { state: 'Done', message: null },
    ],
    [
      'it was changed since',
      { machineType: 'pc-q35-rhel9.0.0', vmiType: OLD },
      { state: 'ChangedSince', message: 'its type is pc-q35-rhel9.0.0 now' },
    ],
  ])('%s', (_words, fields, expected) => {
    expect(report([vm(fields)])).toMatchObject([expected]);
  });

  test('has its VMs, with the types before and after', () => {
    expect(report([vm({ vmiType: NEW })])).toEqual([
      { namespace: 'shop', name: 'db', from: OLD, to: NEW, vmiTypeBefore: OLD, state: 'Done', message: null },
    ]);
  });

  test('has nothing about VMs without its record, or with that of another', () => {
    expect(report([vm({ transition: null }), vm({ transition: record({ id: '0a0a0a0a' }) })])).toEqual([]);
  });

  test('has VMs that were deleted since, once', () => {
    const progress = { failed: [{ vm: 'shop/failed', message: 'not ready in time' }], skipped: [], inProgress: [] };
    const rows = report([vm()], { progress, changed: ['shop/db', 'shop/failed', 'shop/gone'] });
    expect(rows.map(({ name, state, message: why }) => [name, state, why])).toEqual([
      ['db', 'Done', null],
      ['failed', 'Failed', 'not ready in time'],
      ['gone', 'Gone', 'it no longer exists'],
    ]);
  });

  test('has VMs that another transition has changed since, with the type that it found', () => {
    const other = record({ id: '0a0a0a0a', from: NEW, to: OLD });
    const rows = report([vm({ transition: other }), vm({ name: 'stranger', transition: other })], {
      changed: ['shop/db'],
    });
    const why = 'operation 0a0a0a0a has changed it since';
    expect(rows).toEqual([
      { namespace: 'shop', name: 'db', from: null, to: NEW, vmiTypeBefore: null, state: 'ChangedSince', message: why },
    ]);
  });

  test('has a VM as excluded that a user has changed since', () => {
    const skipped = [
      {
        message: 'its machine type was set to pc-q35-rhel8.4.0 since',
        isExcluded: true,
        count: 2,
        vms: ['shop/db', 'shop/mail'],
      },
    ];
    const vms = [vm({ machineType: 'pc-q35-rhel8.4.0' }), vm({ name: 'mail', transition: null, machineType: OLD })];
    const rows = report(vms, { progress: { failed: [], skipped, inProgress: [] } });
    expect(rows.map(({ name, state }) => [name, state])).toEqual([
      ['db', 'ChangedSince'],
      ['mail', 'Excluded'],
    ]);
    expect(rows[0]!.message).toBe(skipped[0]!.message);
  });

  test('prefers what its workflow says about VMs to their own records', () => {
    const vms = [
      vm({ name: 'a', vmiType: OLD }),
      vm({ name: 'b', transition: null, machineType: OLD }),
      vm({ name: 'c', transition: null, machineType: OLD }),
      vm({ name: 'd', vmiType: OLD }),
    ];
    const progress = {
      failed: [
        { vm: 'shop/a', message: 'not ready in time' },
        { vm: 'shop/gone', message: 'refused' },
      ],
      skipped: [
        { message: 'it is paused', isExcluded: false, count: 1, vms: ['shop/b'] },
        { message: 'its owner asked', isExcluded: true, count: 2, vms: ['shop/c', 'shop/left'] },
      ],
      inProgress: ['shop/d'],
    };
    expect(
      report(vms, { progress }).map(({ name, from, to, state, message: why }) => [name, from, to, state, why]),
    ).toEqual([
      ['a', OLD, NEW, 'Failed', 'not ready in time'],
      ['b', OLD, null, 'Deferred', 'it is paused'],
      ['c', OLD, null, 'Excluded', 'its owner asked'],
      ['d', OLD, NEW, 'Restarting', 'not seen to be ready with its new type yet'],
      ['gone', null, null, 'Failed', 'refused'],
    ]);
  });
});
