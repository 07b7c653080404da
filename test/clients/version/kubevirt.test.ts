import { expect, test } from 'vitest';
import { kubevirtIn } from '../../../clients/version/versions.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';

const clusterWith = (...items: object[]): KubeClient =>
  ({ list: () => Promise.resolve({ items }) }) as unknown as KubeClient;

test('a KubeVirt that has not reported its version is not taken for a missing one', async () => {
  expect(await kubevirtIn(clusterWith())).toBeNull();
  expect(await kubevirtIn(clusterWith({ status: { observedKubeVirtVersion: 'v1.8.0' } }))).toBe('v1.8.0');
  await expect(kubevirtIn(clusterWith({}))).rejects.toThrow('KubeVirt has not reported it');
});
