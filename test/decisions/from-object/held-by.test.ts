import { expect, test } from 'vitest';
import { heldBy } from '../../../decisions/from-object/held-by.ts';

const going = (...finalizers: string[]) => ({ name: 'web-1', deletionTimestamp: '2026-01-02T03:04:05Z', finalizers });

test('only finalizers of others hold an object that is being deleted', () => {
  expect(heldBy(going('example.com/hold', 'drover.dev/keep-disks', 'backup'))).toBe('example.com/hold, backup');
  expect(heldBy({ name: 'web-1', finalizers: ['example.com/hold'] })).toBeNull();
  expect(heldBy({ name: 'web-1', deletionTimestamp: '2026-01-02T03:04:05Z' })).toBeNull();
});

test.each([
  'drover.dev/keep-disks',
  'kubevirt.io/virtualMachineControllerFinalize',
  'pool.kubevirt.io/finalizer',
  'foregroundDeleteVirtualMachine',
  'foregroundDeletion',
])('%s goes by itself', (finalizer) => {
  expect(heldBy(going(finalizer))).toBeNull();
});
