import { describe, expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { affectedSets } from '../../../activities/watch/affected-sets.ts';
import type { NodeView } from '../../../decisions/views/node.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';
import { aMember, anInstance, anInstanceSet, aSet } from '../../decisions/replica-sets/sets.ts';

const member = aMember('web-7hk2p');
const lone = aVm('lone', { owner: null, ownLabels: { app: 'web' } });
const onNodeOf = (...vmis: VmiView[]) => ({ of: (node: string) => vmis.filter((vmi) => vmi.node === node) });
const sets = [
  aSet(),
  aSet({ selector: { matchLabels: { app: 'db' } } }, { name: 'db' }),
  aSet({}, { namespace: 'bank' }),
];
const cache = {
  replicaSets: { size: sets.length, values: () => sets.values() },
  vms: { get: (key: string) => [member, lone].find((vm) => `${vm.namespace}/${vm.name}` === key) },
  vmisByNode: onNodeOf(aVmi(member)),
} as unknown as ClusterCache;
const ofVm = (before: VmView | undefined, after: VmView | undefined): string[] =>
  affectedSets('VirtualMachineReplicaSet', { kind: 'vm', before, after }, cache);

test('a VM affects the set that controls it', () => {
  expect(ofVm(undefined, member)).toEqual(['shop/web']);
  expect(ofVm(member, { ...member, ready: false })).toEqual(['shop/web']);
  expect(ofVm(member, undefined)).toEqual(['shop/web']);
  expect(ofVm(member, { ...member, resourceVersion: '2' })).toEqual([]);
  expect(ofVm(undefined, aVm('web-1'))).toEqual([]);
});

test("a change of a VM's own label affects its set, even if its VMI template has the label all the same", () => {
  expect(ofVm(member, { ...member, ownLabels: {} })).toEqual(['shop/web']);
});

test('a VM without a controller affects the sets that it matches in its namespace', () => {
  expect(ofVm(undefined, lone)).toEqual(['shop/web']);
  expect(ofVm(lone, { ...lone, ownLabels: { app: 'db' } })).toEqual(['shop/web', 'shop/db']);
  expect(ofVm(member, { ...member, owner: null })).toEqual(['shop/web']);
});

test("the VM's VMI affects its set, and so does the node of that", () => {
  const vmi = aVmi(member);
  expect(
    affectedSets(
      'VirtualMachineReplicaSet',
      { kind: 'vmi', before: vmi, after: { ...vmi, migration: { name: 'm', phase: 'Running', createdAt: 0 } } },
      cache,
    ),
  ).toEqual(['shop/web']);
  const before = { name: vmi.node!, zone: null, ready: true, schedulable: true, machineTypes: [] };
  expect(affectedSets('VirtualMachineReplicaSet', { kind: 'node', before, after: undefined }, cache)).toEqual([
    'shop/web',
  ]);
  expect(affectedSets('VirtualMachineReplicaSet', { kind: 'node', before: undefined, after: before }, cache)).toEqual([
    'shop/web',
  ]);
});

test('a set affects itself, unless only its status has changed', () => {
  const [set] = sets;
  const after = { ...set!, status: { replicas: 3 } };
  expect(affectedSets('VirtualMachineReplicaSet', { kind: 'replica set', before: set, after }, cache)).toEqual([]);
  const edited = { ...set!, metadata: { ...set!.metadata, generation: 2 } };
  expect(affectedSets('VirtualMachineReplicaSet', { kind: 'replica set', before: set, after: edited }, cache)).toEqual([
    'shop/web',
  ]);
  expect(
    affectedSets('VirtualMachineReplicaSet', { kind: 'replica set', before: set, after: undefined }, cache),
  ).toEqual(['shop/web']);
});

const instance = anInstance('web-7hk2p');
const vmiSets = [
  anInstanceSet(),
  anInstanceSet({ selector: { matchLabels: { app: 'db' } } }, { name: 'db' }),
  anInstanceSet({}, { namespace: 'bank' }),
];
const ofInstances = {
  vmiSets: { values: () => vmiSets.values() },
  vmisByNode: onNodeOf(instance, aVmi(member)),
} as unknown as ClusterCache;
const ofVmi = (before: VmiView | undefined, after: VmiView | undefined): string[] =>
  affectedSets('VirtualMachineInstanceReplicaSet', { kind: 'vmi', before, after }, ofInstances);

test('a VMI affects the set that controls it, or else those that would adopt it', () => {
  expect(ofVmi(undefined, instance)).toEqual(['shop/web']);
  for (const change of [{ ready: false }, { deleting: true }, { phase: 'Failed' }])
    expect(ofVmi(instance, { ...instance, ...change })).toEqual(['shop/web']);
  expect(ofVmi(instance, undefined)).toEqual(['shop/web']);
  expect(ofVmi(instance, { ...instance, resourceVersion: '2' })).toEqual([]);
  expect(ofVmi(undefined, anInstance('lone', { owner: null }))).toEqual(['shop/web']);
  expect(ofVmi(undefined, anInstance('lone', { owner: null, labels: {} }))).toEqual([]);
});

test("VMIs of VMs affect no set of instances, and those of KubeVirt's own sets only as they come, go or change labels", () => {
  expect(ofVmi(undefined, aVmi(member))).toEqual([]);
  const kind = 'VirtualMachineInstanceReplicaSet.kubevirt.io';
  const theirs = anInstance('theirs', { owner: { kind, name: 'web', uid: 'x' } });
  expect(ofVmi(undefined, theirs)).toEqual(['shop/web']);
  expect(ofVmi(theirs, { ...theirs, ready: false })).toEqual([]);
  expect(ofVmi(undefined, anInstance('theirs', { labels: {}, owner: { kind, name: 'web', uid: 'x' } }))).toEqual([]);
});

describe("a set's neighbours affect it if", () => {
  const pool = { kind: 'VirtualMachinePool', name: 'pool', uid: 'pool' };
  const theirs = aMember('pool-1', { owner: pool });

  test('a VM that it would match comes, goes, or changes hands or labels', () => {
    expect(ofVm(undefined, theirs)).toEqual(['shop/web']);
    expect(ofVm(theirs, undefined)).toEqual(['shop/web']);
    expect(ofVm(theirs, { ...theirs, ownLabels: {} })).toEqual(['shop/web']);
    expect(ofVm(theirs, { ...theirs, ready: false })).toEqual([]);
    expect(ofVm(aMember('web-7hk2p'), aMember('web-7hk2p', { owner: pool }))).toEqual(['shop/web']);
  });

  test('a VM of a name that the set would give comes or goes', () => {
    const named = aVm('web-bcdfg', { owner: null, ownLabels: {} });
    expect(ofVm(undefined, named)).toEqual(['shop/web']);
    expect(ofVm(named, undefined)).toEqual(['shop/web']);
    expect(
      affectedSets('VirtualMachineInstanceReplicaSet', { kind: 'vm', before: named, after: undefined }, ofInstances),
    ).toEqual(['shop/web']);
    expect(
      affectedSets(
        'VirtualMachineInstanceReplicaSet',
        { kind: 'vm', before: named, after: { ...named, ready: false } },
        ofInstances,
      ),
    ).toEqual([]);
  });

  test('a set whose selector overlaps with its own comes or goes', () => {
    const other = aSet({}, { name: 'other', uid: 'other' });
    expect(
      affectedSets('VirtualMachineReplicaSet', { kind: 'replica set', before: undefined, after: other }, cache),
    ).toEqual(['shop/other', 'shop/web', 'shop/db']);
    const apart = aSet(
      { selector: { matchLabels: { app: 'x' } }, template: { metadata: { labels: { app: 'x' } }, spec: {} } } as never,
      { name: 'other', uid: 'other' },
    );
    expect(
      affectedSets('VirtualMachineReplicaSet', { kind: 'replica set', before: apart, after: undefined }, cache),
    ).toEqual(['shop/other']);
  });
});

test('a node affects the sets of the VMIs on it', () => {
  const node = { name: 'node-1', ready: true } as NodeView;
  expect(
    affectedSets('VirtualMachineInstanceReplicaSet', { kind: 'node', before: node, after: undefined }, ofInstances),
  ).toEqual(['shop/web']);
  expect(
    affectedSets('VirtualMachineInstanceReplicaSet', { kind: 'node', before: undefined, after: node }, ofInstances),
  ).toEqual(['shop/web']);
});
