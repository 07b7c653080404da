import { expect, test } from 'vitest';
import { isRestoredSince } from '../../../decisions/operations/restored.ts';

const seen = { minVersions: { vms: '900', vmis: '905' }, operationVersion: '890' };

test.each([
  ['as the run has seen it', { minVersions: { vms: '900', vmis: '950', pools: '10' }, operationVersion: '890' }, false],
  ['with VMs from before', { minVersions: { vms: '100', vmis: '950' }, operationVersion: '890' }, true],
  // As etcd restores with a higher revision, so that no watch misses anything.
  ['with an operation from before', { minVersions: { vms: '10900', vmis: '10900' }, operationVersion: '80' }, true],
  ['by another worker, without its caches', { minVersions: { vms: '0', vmis: '905' }, operationVersion: '890' }, false],
  ['without the operation', { minVersions: { vms: '900', vmis: '905' } }, false],
])('an API server %s: restored?', (_how, now, isRestored) => {
  expect(isRestoredSince(seen, now)).toBe(isRestored);
  expect(isRestoredSince({ minVersions: {} }, now)).toBe(false);
});
