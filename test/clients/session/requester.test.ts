import { hostname, userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { requestedBy } from '../../../clients/session/requester.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';

const here = `${userInfo().username}@${hostname()}`;
const clusterOf = (username: string | undefined) => async () =>
  ({ create: async () => ({ status: { userInfo: { username } } }) }) as unknown as KubeClient;
const noCluster = () => Promise.reject(new Error('no cluster to talk to'));

test('the requester is the user that the API server knows', async () => {
  expect(await requestedBy(clusterOf('ada@example.com'), {})).toBe('ada@example.com');
});

test('the environment names another requester', async () => {
  expect(await requestedBy(clusterOf('ada@example.com'), { DROVER_REQUESTED_BY: 'ci: deploy of 42\n' })).toBe(
    'ci: deploy of 42',
  );
  expect(await requestedBy(clusterOf('ada@example.com'), { DROVER_REQUESTED_BY: ' ' })).toBe('ada@example.com');
});

test('the requester is the user of this machine if the API server does not say', async () => {
  expect(await requestedBy(clusterOf(undefined), {})).toBe(here);
  expect(await requestedBy(noCluster, {})).toBe(here);
});

test('a name is no longer than a status takes', async () => {
  expect(await requestedBy(noCluster, { DROVER_REQUESTED_BY: 'x'.repeat(300) })).toHaveLength(256);
});
