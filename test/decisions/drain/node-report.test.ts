import { expect, test } from 'vitest';
import { nodeReport, type NodeReportItem, type OnNode } from '../../../decisions/drain/node-report.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi } from '../model/fleets.ts';

const EVICTED = { evictionStrategy: 'External', evacuationNode: 'node-1' };
const drained = aPool({ replicas: 3, maxUnavailable: 1, drain: {} });

interface Member {
  vm?: VmView | null;
  vmi?: Partial<VmiView>;
  pool?: StoredPool | null;
}

function report(members: Member[], clusterStrategy = 'None'): NodeReportItem[] {
  const onNode = members.map(({ vm = aVm('web-1'), vmi, pool = null }): OnNode => ({
    vm,
    vmi: aVmi(vm ?? aVm('alone'), { ...(vm === null ? { vmUid: null } : {}), ...vmi }),
    pool,
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

test('VMs of a pool with drain are told as the pool itself tells them', () => {
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

test.each<[string, Member, string | undefined, NodeReportItem['state']]>([
  ['LiveMigrate', { vmi: { evictionStrategy: 'LiveMigrate' } }, undefined, 'KubeVirt'],
  ['LiveMigrate that can not', { vmi: { evictionStrategy: 'LiveMigrate', migratable: false } }, undefined, 'Blocked'],
  ['LiveMigrateIfPossible', { vmi: { evictionStrategy: 'LiveMigrateIfPossible' } }, undefined, 'KubeVirt'],
  [
    'the same that can not',
    { vmi: { evictionStrategy: 'LiveMigrateIfPossible', migratable: false } },
    undefined,
    'Ends',
  ],
  ['None', { vmi: { evictionStrategy: 'None' } }, 'LiveMigrate', 'Ends'],
  ["the cluster's", {}, 'LiveMigrate', 'KubeVirt'],
  ['External, and nobody acts', { vmi: EVICTED, pool: aPool() }, undefined, 'Blocked'],
  ['a template before drain', { vmi: { evictionStrategy: 'LiveMigrate' }, pool: drained }, undefined, 'KubeVirt'],
  ['none of a VMI that ends', { vmi: { ...EVICTED, deleting: true }, pool: drained }, undefined, 'Ends'],
  ['none of a VMI without a VM', { vm: null }, undefined, 'Ends'],
])('the strategy %s', (_what, member, clusterStrategy, expected) => {
  expect(state(member, clusterStrategy)).toBe(expected);
  expect(report([member], clusterStrategy)[0]!.message).not.toBe('');
});
