import { expect, test } from 'vitest';
import { nodeReport, type NodeReportItem, type OnNode } from '../../../clients/drain/node-report.ts';
import { changeAnnotation } from '../../../decisions/membership/change.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

const EVICTED = { evictionStrategy: 'External', evacuationNode: 'node-1', nodeDrained: true };
const STARTING: Partial<VmiView> = { evictionStrategy: 'External', phase: 'Scheduling', ready: false, node: null };
const CORDONED: Partial<VmiView> = { ...STARTING, podNode: 'node-1', podNodeCordoned: true };
const NONE: Partial<VmiView> = { evictionStrategy: 'None' };
const drained = aPool({ replicas: 3, maxUnavailable: 1, drain: {} });

interface Member {
  vm?: VmView | null;
  vmi?: Partial<VmiView>;
  pool?: StoredPool | null;
  isStarting?: boolean;
}

function report(members: Member[], clusterStrategy = 'None'): NodeReportItem[] {
  const onNode = members.map(({ vm = aVm('web-1'), vmi, pool = null, isStarting = false }): OnNode => ({
    vm,
    vmi: aVmi(vm ?? aVm('alone'), { ...(vm === null ? { vmUid: null } : {}), ...vmi }),
    pool,
    isStarting,
  }));
  return nodeReport({
    onNode,
    membersOf: () => onNode.flatMap(({ vm }) => vm ?? []),
    vmiOf: ({ uid }) => onNode.find(({ vmi }) => vmi.vmUid === uid)?.vmi,
    clusterStrategy,
    now: 1_000_000,
  });
}

const state = (member: Member, clusterStrategy?: string): string => report([member], clusterStrategy)[0]!.state;

test('VMs of a pool with drain are reported as the pool itself reports them', () => {
  const members = ['web-1', 'web-2', 'web-3'].map((name) => ({ vm: aVm(name), pool: drained }));
  const asked = members.slice(0, 2).map((member) => ({ ...member, vmi: EVICTED }));
  const told = report([...asked, { ...members[2]!, vmi: { evictionStrategy: 'External' } }]);
  expect(told.map(({ name, state: is }) => `${name} ${is}`)).toEqual([
    'web-1 Evacuating',
    'web-2 Budget',
    'web-3 NotAsked',
  ]);
  expect(told[0]).toMatchObject({ namespace: 'shop', owner: 'VirtualMachinePool/web' });
});

test('VMs that are down hold nothing up: they are restarted, whatever the budget', () => {
  const members = ['web-1', 'web-2', 'web-3'].map((name) => ({
    vm: aVm(name, { ready: name === 'web-1' }),
    vmi: { ...EVICTED, ready: name === 'web-1' },
    pool: drained,
  }));
  expect(report(members).map(({ name, message }) => `${name} ${message}`)).toEqual([
    'web-1 waits: 2 VMs are unavailable or being moved, and maxUnavailable allows 1',
    'web-2 is being restarted: it is not ready, so a restart costs nothing',
    'web-3 is being restarted: it is not ready, so a restart costs nothing',
  ]);
});

test('a VM waits for a migration by others, and takes no place of another VM meanwhile', () => {
  const pool = aPool({ replicas: 2, maxUnavailable: 1, drain: {} });
  const members = ['web-1', 'web-2'].map((name) => ({ vm: aVm(name), vmi: EVICTED, pool }));
  const told = report([
    { ...members[0]!, vmi: { ...EVICTED, migration: { name: 'mine', phase: 'Pending', createdAt: 0 } } },
    members[1]!,
  ]);
  expect(told.map(({ state: is }) => is)).toEqual(['Waiting', 'Evacuating']);
  expect(told[0]!.message).toMatch('its migration mine, made at 1970-01-01T00:00:00.000Z, is Pending');
});

test('VMs wait while the members of their pool change', () => {
  const annotations = changeAnnotation({ kind: 'takeover', by: 'ann', at: '2026-01-01T00:00:00Z' });
  const pool = aPool({ replicas: 3, drain: {} }, { annotations });
  expect(report([{ vmi: EVICTED, pool }])[0]).toMatchObject({
    state: 'Waiting',
    message: 'waits: the members of its pool are changing',
  });
});

test.each<[string, Member, string | undefined, NodeReportItem['state']]>([
  ['LiveMigrate', { vmi: { evictionStrategy: 'LiveMigrate' } }, undefined, 'KubeVirt'],
  ['LiveMigrate that can not', { vmi: { evictionStrategy: 'LiveMigrate', migratable: false } }, undefined, 'Blocked'],
  ['LiveMigrateIfPossible', { vmi: { evictionStrategy: 'LiveMigrateIfPossible' } }, undefined, 'KubeVirt'],
  [
    'the same that can not',
    { vmi: { evictionStrategy: 'LiveMigrateIfPossible', migratable: false } },
    undefined,
    'ShutDown',
  ],
  ['None', { vmi: { evictionStrategy: 'None' } }, 'LiveMigrate', 'ShutDown'],
  ['None, of a pool with drain whose VMs run an older template', { vmi: NONE, pool: drained }, undefined, 'ShutDown'],
  ["the cluster's", {}, 'LiveMigrate', 'KubeVirt'],
  ['External, and nobody acts', { vmi: EVICTED, pool: aPool() }, undefined, 'Blocked'],
  [
    'External, and the drain was called off',
    { vmi: { ...EVICTED, nodeDrained: false }, pool: drained },
    undefined,
    'Waiting',
  ],
  ['a template before drain', { vmi: { evictionStrategy: 'LiveMigrate' }, pool: drained }, undefined, 'KubeVirt'],
  ['External, of a VMI that has not come up', { vmi: STARTING, isStarting: true }, undefined, 'Blocked'],
  ['the same, of a pool with drain', { vmi: STARTING, pool: drained, isStarting: true }, undefined, 'NotAsked'],
  ['the same, on a cordoned node', { vmi: CORDONED, pool: drained, isStarting: true }, undefined, 'Evacuating'],
  [
    'the same, of a VM that tolerates cordons',
    { vmi: { ...CORDONED, toleratesCordons: true }, pool: drained, isStarting: true },
    undefined,
    'Blocked',
  ],
  [
    'LiveMigrate, of the same',
    { vmi: { ...STARTING, evictionStrategy: 'LiveMigrate' }, isStarting: true },
    undefined,
    'Blocked',
  ],
  ['None, of the same', { vmi: { ...STARTING, ...NONE }, isStarting: true }, undefined, 'ShutDown'],
  ['of a VMI that is ending', { vmi: { ...EVICTED, deleting: true }, pool: drained }, undefined, 'Ends'],
  ['of a VMI that cannot end', { vmi: { ...EVICTED, deleting: true, nodeLost: true } }, undefined, 'Blocked'],
  ['none of a VMI that has ended', { vmi: { ...EVICTED, phase: 'Failed' }, pool: drained }, undefined, 'Ends'],
  ['none of a VMI that ends', { vmi: { ...EVICTED, deleting: true }, pool: drained }, undefined, 'Ends'],
  ['none of a VMI without a VM', { vm: null }, undefined, 'ShutDown'],
])('the strategy %s', (_what, member, clusterStrategy, expected) => {
  expect(state(member, clusterStrategy)).toBe(expected);
  expect(report([member], clusterStrategy)[0]!.message).not.toBe('');
});

const BY_USER = { reason: 'PausedByUser', message: '' };
const SNAPSHOT = { operations: [{ kind: 'Snapshot' as const, object: null }] };
test.each<[string, Member, string | undefined, NodeReportItem['state'], boolean]>([
  ['a VM whose owner opted out', { vm: aVm('web-1', { optedOut: true }) }, 'None', 'Blocked', true],
  ['the same that KubeVirt would migrate', { vm: aVm('web-1', { optedOut: true }) }, 'LiveMigrate', 'Blocked', true],
  ['a VM whose snapshot is taken', { vm: aVm('web-1', SNAPSHOT) }, 'None', 'Waiting', true],
  ['a VM that a user has paused', { vmi: { pause: BY_USER } }, 'None', 'Blocked', true],
  ['a paused VM that moves with its memory', { vmi: { pause: BY_USER } }, 'LiveMigrate', 'KubeVirt', false],
  ['any other VM', {}, 'None', 'ShutDown', false],
])('%s: what drover would not disrupt is not evicted either', (_who, member, strategy, expected, isKept) => {
  expect(report([{ ...member, pool: aPool() }], strategy)[0]).toMatchObject({ state: expected, isKept });
});
