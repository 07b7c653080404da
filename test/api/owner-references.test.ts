import { describe, expect, test } from 'vitest';
import type { OwnerReference } from '../../api/objects.ts';
import { byController, identityOf, isControlledBy, isOwnerReferenceTo } from '../../api/owner-references.ts';
import { KubeVirtPools, VirtualMachinePools, VirtualMachineReplicaSets, VirtualMachines } from '../../api/resources.ts';

const POOL = { namespace: 'shop', uid: 'of-web' };
const reference: OwnerReference = {
  apiVersion: 'drover.dev/v1alpha1',
  kind: 'VirtualMachinePool',
  name: 'web',
  uid: POOL.uid,
  controller: true,
};
const owned = (by: Partial<OwnerReference> = {}, namespace = 'shop') => ({
  metadata: { namespace, name: 'web-1', ownerReferences: [{ ...reference, ...by }] },
});
const isOfPool = (by?: Partial<OwnerReference>, namespace?: string): boolean =>
  isControlledBy(owned(by, namespace), VirtualMachinePools, POOL);

describe('an owner controls an object', () => {
  test('if the object names it as its controller, in its namespace', () => {
    expect(isOfPool()).toBe(true);
    expect(isOfPool({}, 'strangers')).toBe(false);
    expect(isOfPool({ uid: 'of-another' })).toBe(false);
    expect(isOfPool({ controller: false })).toBe(false);
  });

  test('only with the kind, the group and the version that are served', () => {
    expect(isOfPool({ kind: 'VirtualMachineReplicaSet' })).toBe(false);
    expect(isOfPool({ apiVersion: 'drover.dev/v0' })).toBe(false);
    expect(isOfPool({ apiVersion: 'pool.kubevirt.io/v1alpha1' })).toBe(false);
    expect(isControlledBy(owned(), VirtualMachineReplicaSets, POOL)).toBe(false);
  });

  test('with any version of kinds that others serve', () => {
    for (const apiVersion of ['pool.kubevirt.io/v1alpha1', 'pool.kubevirt.io/v1beta1'])
      expect(isOwnerReferenceTo({ ...reference, apiVersion }, KubeVirtPools)).toBe(true);
    expect(isOwnerReferenceTo({ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine' }, VirtualMachines)).toBe(true);
    expect(isOwnerReferenceTo({ apiVersion: 'example.org/v1', kind: 'VirtualMachine' }, VirtualMachines)).toBe(false);
  });
});

test('objects are found by their controller in their namespace', () => {
  const [own, forged, wrong] = [owned(), owned({}, 'strangers'), owned({ apiVersion: 'drover.dev/v0' })];
  const find = byController([own, forged, wrong], VirtualMachinePools);
  expect(find(POOL)).toEqual([own]);
  expect(find({ ...POOL, namespace: 'strangers' })).toEqual([forged]);
  expect(find({ ...POOL, uid: 'of-another' })).toEqual([]);
});

test('an object without a namespace belongs to none', () => {
  const metadata = {
    name: 'node-1',
    uid: 'of-node-1',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  expect(identityOf({ metadata })).toEqual({ namespace: '', uid: 'of-node-1' });
});
