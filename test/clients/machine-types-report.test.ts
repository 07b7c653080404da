import { describe, expect, test } from 'vitest';
import { csvOf, reportOf, type ReportInput, type ReportRow } from '../../clients/machine-types/report.ts';
import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../api/names.ts';
import type { TransitionRecord } from '../../decisions/machine-types/transition.ts';

const [OLD, NEW] = ['pc-q35-rhel8.2.0', 'pc-q35-rhel9.2.0'];
const record = (fields: Partial<TransitionRecord> = {}): TransitionRecord => ({ id: '1f0c92ab', from: OLD, to: NEW, guest: OLD, at: '2026-01-01T00:00:00Z', ...fields });
const annotated = (one: TransitionRecord | null): Record<string, string> => (one === null ? {} : { [MACHINE_TYPE_TRANSITION_ANNOTATION]: JSON.stringify(one) });

const meta = (name: string) => ({ namespace: 'shop', name, uid: `uid-of-${name}`, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' });

interface Given {
  name?: string;
  carries?: TransitionRecord | null;
  type?: string;
  guest?: string | null;
  marked?: boolean;
  pool?: string;
}

function vm({ name = 'db', carries = record(), type = NEW, guest = null, marked = false, pool }: Given = {}): ReportInput['vms'][number] {
  const ownerReferences = pool === undefined ? [] : [{ apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool', name: pool, uid: `uid-of-${pool}`, controller: true }];
  const labels: Record<string, string> = marked ? { [MACHINE_TYPE_RESTART_LABEL]: '1f0c92ab' } : {};
  return {
    vm: {
      metadata: { ...meta(name), annotations: annotated(carries), labels, ownerReferences },
      spec: { template: { spec: { domain: { machine: { type } } } } },
    },
    guest: guest === null ? null : { metadata: meta(name), spec: { domain: { machine: { type: 'q35' } } }, status: { machine: { type: guest } } },
  };
}

const report = (vms: ReportInput['vms'], fields: Partial<ReportInput> = {}): ReportRow[] => reportOf({ id: '1f0c92ab', vms, pools: [], progress: null, ...fields });
const quiet = { failed: [], passedOver: [], inHand: [] };

describe('what has become of a VM', () => {
  test.each<[string, Given, Pick<ReportRow, 'state' | 'why'>]>([
    ['it is stopped', {}, { state: 'Done', why: null }],
    ['its guest has the new type', { guest: NEW, marked: true }, { state: 'Done', why: null }],
    ['it was stopped then, and runs', { carries: record({ guest: null }), guest: NEW }, { state: 'Done', why: null }],
    ['its guest has the old type', { guest: OLD, marked: true }, { state: 'Waiting', why: `its guest still has ${OLD}` }],
    ['nobody waits for it any more', { guest: OLD }, { state: 'Waiting', why: `its guest still has ${OLD}, and nobody waits for its restart any more` }],
    ['an alias, whose guest is old', { carries: record({ from: 'q35', to: 'q35' }), type: 'q35', guest: OLD, marked: true }, { state: 'Waiting', why: `its guest still has ${OLD}` }],
    ['an alias, whose guest is new', { carries: record({ from: 'q35', to: 'q35' }), type: 'q35', guest: NEW }, { state: 'Done', why: null }],
    ['somebody has changed it since', { type: 'pc-q35-rhel9.0.0', guest: OLD }, { state: 'ChangedSince', why: 'its type is pc-q35-rhel9.0.0 now' }],
  ])('%s', (_words, given, expected) => {
    expect(report([vm(given)])).toMatchObject([expected]);
  });

  test('with its types before and after', () => {
    expect(report([vm({ guest: NEW })])).toEqual([{ namespace: 'shop', name: 'db', from: OLD, to: NEW, guestBefore: OLD, state: 'Done', why: null }]);
  });

  test('nothing of VMs that carry nothing of it, or of another', () => {
    expect(report([vm({ carries: null }), vm({ carries: record({ id: '0a0a0a0a' }) })])).toEqual([]);
  });

  test('VMs of a pool that it has changed, before and after the pool has rolled them', () => {
    const pools = [{ metadata: { ...meta('web'), annotations: annotated(record({ guest: null })) }, spec: { replicas: 2, template: { spec: {} } } }] as unknown as ReportInput['pools'];
    const rows = report(
      [
        vm({ name: 'web-10', carries: null, pool: 'web', type: NEW, guest: NEW }),
        vm({ name: 'web-2', carries: null, pool: 'web', type: OLD, guest: OLD }),
        vm({ name: 'web-3', carries: null, pool: 'web', type: NEW, guest: OLD }),
        vm({ name: 'db-1', carries: null, pool: 'db' }),
      ],
      { pools },
    );
    expect(rows.map(({ name, from, state, why }) => [name, from, state, why])).toEqual([
      ['web-2', OLD, 'InPool', 'pool web is to roll it'],
      ['web-3', OLD, 'InPool', 'pool web is to roll it'],
      ['web-10', OLD, 'Done', 'rolled by pool web'],
    ]);
  });

  test('what its workflow says of VMs counts for more than what they carry', () => {
    const rows = report([vm({ name: 'a', guest: OLD }), vm({ name: 'b', carries: null, type: OLD }), vm({ name: 'c', carries: null, type: OLD }), vm({ name: 'd', guest: OLD })], {
      progress: {
        ...quiet,
        failed: [{ vm: 'shop/a', why: 'not ready in time' }, { vm: 'shop/gone', why: 'refused' }],
        passedOver: [
          { why: 'it is paused', isWish: false, count: 1, vms: ['shop/b'] },
          { why: 'its owner asked', isWish: true, count: 1, vms: ['shop/c'] },
        ],
        inHand: ['shop/d'],
      },
    });
    expect(rows.map(({ name, from, to, state, why }) => [name, from, to, state, why])).toEqual([
      ['a', OLD, NEW, 'Failed', 'not ready in time'],
      ['b', OLD, null, 'PutOff', 'it is paused'],
      ['c', OLD, null, 'LeftAlone', 'its owner asked'],
      ['d', OLD, NEW, 'Restarting', 'not seen to be ready with its new type yet'],
      ['gone', null, null, 'Failed', 'refused'],
    ]);
  });
});

test('as CSV, with quotes only where they must be', () => {
  const row: ReportRow = { namespace: 'shop', name: 'db', from: OLD, to: null, guestBefore: null, state: 'Failed', why: 'it said "no", twice' };
  expect(csvOf([row, { ...row, why: null, to: NEW }])).toBe(
    ['namespace,name,from,to,guest before,state,why', `shop,db,${OLD},,,Failed,"it said ""no"", twice"`, `shop,db,${OLD},${NEW},,Failed,`].join('\n'),
  );
});
