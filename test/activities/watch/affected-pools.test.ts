import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { affectedPools } from '../../../activities/watch/affected-pools.ts';
import { REMOVE_VMS_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KeptClaim } from '../../../decisions/template/kept-disk.ts';
import { kindOf } from '../../../decisions/views/owner-kind.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi } from '../../decisions/fixtures/fleets.ts';
import { aKeptDisk } from '../../decisions/fixtures/kept-disks.ts';

function fleetOf(
  pools: StoredPool[],
  vms: VmView[],
  vmis: VmiView[] = [],
): Pick<ClusterCache, 'pools' | 'vms' | 'vmisByNode'> {
  const byKey = new Map(vms.map((vm) => [`${vm.namespace}/${vm.name}`, vm]));
  return {
    pools: new Map(pools.map((pool) => [`${pool.metadata.namespace}/${pool.metadata.name}`, pool])),
    vms: { get: (key: string) => byKey.get(key) },
    vmisByNode: { of: (node: string) => vmis.filter((vmi) => vmi.node === node || vmi.podNode === node) },
  } as unknown as ClusterCache;
}
const vm = aVm('web-1');
const fleet = fleetOf([aPool(), aPool({}, { name: 'db' })], [vm, aVm('lone', { owner: null })]);
const vmi = (fields: Partial<VmiView> = {}): VmiView => aVmi(vm, fields);
const affected = (before: VmiView | undefined, after: VmiView | undefined) =>
  affectedPools({ kind: 'vmi', before, after }, fleet);

test('a VMI that comes, changes or goes has the pool of its VM planned again', () => {
  expect(affected(undefined, vmi())).toEqual(['shop/web']);
  expect(affected(vmi({ ready: false }), vmi())).toEqual(['shop/web']);
  expect(
    affected(
      vmi({ memory: { ...vmi().memory, current: '1Gi' } }),
      vmi({ memory: { ...vmi().memory, current: '2Gi' } }),
    ),
  ).toEqual(['shop/web']);
  expect(affected(vmi(), undefined)).toEqual(['shop/web']);
});

test('VMI fields that no decision reads affect no pool', () => {
  expect(affected(vmi({ resourceVersion: '1' }), vmi({ resourceVersion: '2', cpu: { ...vmi().cpu } }))).toEqual([]);
});

test('a VMI of no VM, of another VM of its name, or of a VM without a pool affects no pool', () => {
  expect(affected(undefined, vmi({ vmUid: null }))).toEqual([]);
  expect(affected(undefined, vmi({ vmUid: 'uid-of-an-earlier-one' }))).toEqual([]);
  expect(affected(undefined, aVmi(aVm('web-2')))).toEqual([]);
  expect(affected(undefined, aVmi(aVm('lone', { owner: null })))).toEqual([]);
});

test("a VMI that takes the place of an earlier VM's affects the pool once", () => {
  expect(affected(vmi({ vmUid: 'uid-of-an-earlier-one' }), vmi())).toEqual(['shop/web']);
  expect(affected(vmi({ uid: 'first' }), vmi({ uid: 'second' }))).toEqual(['shop/web']);
});

test('a node that is lost, or is back, affects the pools of the VMIs on it, each once', () => {
  const others = [aVm('web-2'), aVm('web-3', { owner: null })];
  const vmis = [vm, ...others].map((one) => aVmi(one));
  const [before, after] = [true, false].map((ready) => ({
    name: 'node-1',
    zone: null,
    ready,
    schedulable: ready,
    machineTypes: [],
  }));
  const around = fleetOf([aPool()], [vm, ...others], vmis);
  expect(affectedPools({ kind: 'node', before: before!, after }, around)).toEqual(['shop/web']);
  expect(affectedPools({ kind: 'node', before: before!, after: undefined }, around)).toEqual(['shop/web']);
  expect(affectedPools({ kind: 'node', before: undefined, after: before }, around)).toEqual(['shop/web']);
  expect(affectedPools({ kind: 'node', before: { ...before!, name: 'node-2' }, after: undefined }, around)).toEqual([]);
});

test('another rollout strategy affects all pools', () => {
  expect(affectedPools({ kind: 'strategy', before: 'Stage', after: 'LiveUpdate' }, fleet)).toEqual([
    'shop/web',
    'shop/db',
  ]);
});

test('a VM that moves from one pool to another affects both, and one that looks as before affects neither', () => {
  const moved = aVm('web-1', { owner: { kind: 'VirtualMachinePool', name: 'db', uid: 'db-uid' } });
  expect(affectedPools({ kind: 'vm', before: vm, after: moved }, fleet)).toEqual(['shop/web', 'shop/db']);
  expect(
    affectedPools({ kind: 'vm', before: vm, after: { ...vm, resourceVersion: '2', labels: { ...vm.labels } } }, fleet),
  ).toEqual([]);
});

test('an annotation affects the pool if its template sets it', () => {
  const { template } = aPool().spec;
  const setting = fleetOf(
    [aPool({ template: { ...template, metadata: { annotations: { 'team/owner': 'ada' } } } })],
    [vm],
  );
  const noted = (name: string): string[] =>
    affectedPools({ kind: 'vm', before: vm, after: { ...vm, annotations: { [name]: 'bob' } } }, setting);
  expect(noted('team/owner')).toEqual(['shop/web']);
  expect(noted('example.com/seen')).toEqual([]);
});

test('fields that only machine type transitions read affect no pool', () => {
  const record = { id: '0a1b2c3d', from: 'q35', to: 'q35', vmiType: null, at: '2026-01-02T03:04:05Z' };
  const noted = {
    ownLabels: { ...vm.ownLabels, some: 'label' },
    machineType: 'q35',
    transition: record,
    transitionLabel: record.id,
  };
  expect(affectedPools({ kind: 'vm', before: vm, after: { ...vm, ...noted } }, fleet)).toEqual([]);
  expect(affected(vmi(), vmi({ machineType: 'pc-q35-rhel9.6.0', specMachineType: 'q35' }))).toEqual([]);
});

test("a VM of one of KubeVirt's own pools does not affect drover's pool of that name", () => {
  const theirs = aVm('web-1', {
    owner: {
      kind: kindOf({ apiVersion: 'pool.kubevirt.io/v1beta1', kind: 'VirtualMachinePool' }),
      name: 'web',
      uid: 'theirs',
    },
  });
  expect(affectedPools({ kind: 'vm', before: undefined, after: theirs }, fleet)).toEqual([]);
  expect(kindOf({ apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool' })).toBe('VirtualMachinePool');
  expect(kindOf({ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine' })).toBe('VirtualMachine');
});

const diskOf = (poolUid: string, resourceVersion: string): KeptClaim => ({
  namespace: 'shop',
  name: 'data-3',
  uid: 'uid-of-claim',
  resourceVersion,
  deleting: false,
  isOfState: false,
  kept: aKeptDisk({ poolUid, number: 3, disk: 'data' }),
});

test('a kept disk that is given to another pool of the name affects that pool, so that its status soon counts the disk', () => {
  const before = diskOf('uid-of-an-earlier-one', '1');
  expect(affectedPools({ kind: 'disk', before, after: diskOf('uid-of-web', '2') }, fleet)).toEqual(['shop/web']);
  expect(affectedPools({ kind: 'disk', before, after: diskOf('uid-of-an-earlier-one', '2') }, fleet)).toEqual([]);
});

test('annotations that name VMs to remove affect a pool, and no other annotations do', () => {
  const ofPool = (annotations: Record<string, string>): string[] =>
    affectedPools({ kind: 'pool', before: aPool(), after: aPool({}, { annotations }) }, fleet);
  expect(ofPool({ [REMOVE_VMS_ANNOTATION]: '{}' })).toEqual(['shop/web']);
  expect(ofPool({ note: 'by ann' })).toEqual([]);
  expect(affectedPools({ kind: 'vm', before: vm, after: { ...vm, protected: true } }, fleet)).toEqual(['shop/web']);
});
