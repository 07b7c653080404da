import { expect, test } from 'vitest';
import { blockingFinalizers } from '../../../decisions/from-object/blocking-finalizers.ts';

const going = (...finalizers: string[]) => ({ name: 'web-1', deletionTimestamp: '2026-01-02T03:04:05Z', finalizers });

test('only finalizers of others hold an object that is being deleted', () => {
  expect(blockingFinalizers(going('example.com/hold', 'drover.dev/keep-disks', 'backup'))).toBe(
    'example.com/hold, backup',
  );
  expect(blockingFinalizers({ name: 'web-1', finalizers: ['example.com/hold'] })).toBeNull();
  expect(blockingFinalizers({ name: 'web-1', deletionTimestamp: '2026-01-02T03:04:05Z' })).toBeNull();
});

test.each([
  'drover.dev/keep-disks',
  'kubevirt.io/virtualMachineControllerFinalize',
  'pool.kubevirt.io/finalizer',
  'foregroundDeleteVirtualMachine',
  'foregroundDeletion',
])('%s goes by itself', (finalizer) => {
  expect(blockingFinalizers(going(finalizer))).toBeNull();
});
