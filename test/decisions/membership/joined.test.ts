import { expect, test } from 'vitest';
import { JOINED_ANNOTATION, POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import type { ObjectMeta, Stored } from '../../../api/objects.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { joining, joiningTransfer } from '../../../decisions/membership/joining.ts';
import { asFormer } from '../../../decisions/membership/label-patch.ts';
import { aPool } from '../fixtures/fleets.ts';

const pool = aPool();
const owner = { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool', name: 'web', uid: 'pool-uid' };

function vm(metadata: Partial<ObjectMeta>): Stored<VirtualMachine> {
  const given = {
    namespace: 'shop',
    name: 'web-3',
    uid: 'uid',
    resourceVersion: '1',
    creationTimestamp: '2026-01-02T03:04:05Z',
  };
  return {
    metadata: { ...given, ...metadata },
    spec: structuredClone(pool.spec.template.spec),
  };
}

const joinedBy = (from: string | null): unknown =>
  joiningTransfer(pool, joining(pool, vm({}), undefined), from, 0).annotations[JOINED_ANNOTATION];

test('a VM without an owner is labelled as it joins a pool, and VMs of a pool that is taken over are not', () => {
  expect(joinedBy(null)).toBe('true');
  expect(joinedBy('uid-of-a-pool-of-kubevirt')).toBeNull();
});

test('the label goes as the VM leaves the pool', () => {
  expect(asFormer('web', vm({}).metadata).annotations).toHaveProperty([JOINED_ANNOTATION], null);
});

test.each<[joined: boolean, metadata: Partial<ObjectMeta>]>([
  [false, { labels: { [POOL_LABEL]: 'web' } }],
  [true, { labels: { [POOL_LABEL]: 'web' }, annotations: { [JOINED_ANNOTATION]: 'true' } }],
  // Put back by hand, and not labelled yet.
  [true, {}],
  [true, { labels: { [POOL_LABEL]: 'db' } }],
])('joined is %s of %j', (joined, metadata) => {
  expect(vmView(vm({ ...metadata, ownerReferences: [{ ...owner, controller: true }] })).joined).toBe(joined);
});

test('a VM of no pool has not joined one', () => {
  expect(vmView(vm({ annotations: { [JOINED_ANNOTATION]: 'true' } })).joined).toBe(false);
});
