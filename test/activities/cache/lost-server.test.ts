import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { createAwaitRemovalActivities } from '../../../activities/healing/await-removal.ts';
import type { PlanRequest } from '../../../activities/owners/plan-request.ts';
import { createPoolActivities, type PoolActivityOptions } from '../../../activities/pool/pool.ts';

const stopping = new AbortController().signal;
const logger = new DefaultLogger('ERROR');
const givenUp = { type: 'ApiServerLost' };

/** Caches that never change. */
const cachesOf = (lost: AbortSignal): ClusterCache =>
  ({ lost, catchUp: async () => ({}), subscribe: () => () => {} }) as unknown as ClusterCache;

/** A wait for a VM that stays, and calls `onLook` at each look. */
const wait = (lost: AbortSignal, onLook: () => void): Promise<unknown> => {
  const vms = {
    get: () => {
      onLook();
      return { uid: 'u' };
    },
  };
  const cache = Object.assign(cachesOf(lost), { vms });
  const { awaitRemoval } = createAwaitRemovalActivities({ cache, stopping });
  const pool = { namespace: 'shop', name: 'web', uid: 'p' };
  return new MockActivityEnvironment(undefined, { logger }).run(() => awaitRemoval(pool, { vm: 'web-1', uid: 'u' }));
};

test('a wait is given up at once when its worker loses the API server', async () => {
  const server = new AbortController();
  const waiting = wait(server.signal, () => setImmediate(() => server.abort()));
  await expect(waiting).rejects.toMatchObject(givenUp);
});

test('a worker that has lost the API server waits for nothing, and does not look', async () => {
  let looks = 0;
  await expect(wait(AbortSignal.abort(), () => void looks++)).rejects.toMatchObject(givenUp);
  expect(looks).toBe(0);
});

test('a worker that has lost the API server makes no plan', async () => {
  const activities = createPoolActivities({ cache: cachesOf(AbortSignal.abort()) } as PoolActivityOptions);
  await expect(activities.plan({} as PlanRequest)).rejects.toMatchObject(givenUp);
});
