import { expect, test } from 'vitest';
import { Pods, VirtualMachines } from '../../../api/resources.ts';
import { remainingConditions } from '../../../simulator/store/namespace-conditions.ts';

const EARLIER = '2026-01-01T00:00:00Z';
const NOW = '2026-01-01T00:01:00Z';
const vms = {
  resource: VirtualMachines,
  objects: [{ metadata: { name: 'web', finalizers: ['test/hold', 'test/more'] } }],
};
const pods = {
  resource: Pods,
  objects: [{ metadata: { name: 'one', finalizers: ['test/hold'] } }, { metadata: { name: 'two' } }],
};

test('a namespace reports what remains in it, and which finalizers hold that', () => {
  expect(remainingConditions([], [vms, pods], NOW)).toMatchObject([
    {
      type: 'NamespaceContentRemaining',
      status: 'True',
      message: 'Some resources remain: virtualmachines.kubevirt.io has 1, pods. has 2',
    },
    {
      type: 'NamespaceFinalizersRemaining',
      status: 'True',
      message: 'Some content has finalizers: test/hold in 2, test/more in 1',
    },
  ]);
});

test('conditions change their time with their status, and are written only if they say something else', () => {
  const first = remainingConditions([{ type: 'Other', status: 'True' }], [vms, pods], EARLIER)!;
  expect(remainingConditions(first, [vms, pods], NOW)).toBeNull();
  const fewer = remainingConditions(first, [vms], NOW)!;
  expect(fewer.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
    ['Other', undefined],
    ['NamespaceContentRemaining', EARLIER],
    ['NamespaceFinalizersRemaining', EARLIER],
  ]);
  expect(remainingConditions(fewer, [], NOW)!.slice(1)).toMatchObject([
    { status: 'False', reason: 'ContentRemoved', lastTransitionTime: NOW },
    { status: 'False', reason: 'ContentHasNoFinalizers', lastTransitionTime: NOW },
  ]);
});
