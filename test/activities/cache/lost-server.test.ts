import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { waitFor, type Observation } from '../../../activities/cache/wait-for.ts';
import type { PlanRequest } from '../../../activities/owners/types.ts';
import { createPoolActivities, type PoolActivityOptions } from '../../../activities/pool/pool.ts';

const stopping = new AbortController().signal;
const logger = new DefaultLogger('ERROR');
const nothing: Observation<null> = { found: null, worth: 'nothing', shouldReport: false, times: [] };
const givenUp = { type: 'ApiServerLost' };

/** Caches that never change. */
const cachesOf = (lost: AbortSignal): ClusterCache =>
  ({ lost, catchUp: async () => ({}), subscribe: () => () => {} }) as unknown as ClusterCache;

/** A wait that finds nothing, and calls `onLook` at each look. */
const wait = (lost: AbortSignal, onLook: () => void): Promise<null> => {
  const options = { cache: cachesOf(lost), stopping, minVersions: {}, isRelevant: () => true };
  const look = (): Observation<null> => {
    onLook();
    return nothing;
  };
  return new MockActivityEnvironment(undefined, { logger }).run(() => waitFor(options, look));
};

test('a wait is given up at once when its worker loses the API server', async () => {
  const server = new AbortController();
  const waiting = wait(server.signal, () => setImmediate(() => server.abort()));
  await expect(waiting).rejects.toMatchObject(givenUp);
});

test('a worker that has lost the API server waits for nothing, and never looks', async () => {
  let looks = 0;
  await expect(wait(AbortSignal.abort(), () => void looks++)).rejects.toMatchObject(givenUp);
  expect(looks).toBe(0);
});

test('a worker that has lost the API server makes no plan', async () => {
  const activities = createPoolActivities({ cache: cachesOf(AbortSignal.abort()) } as PoolActivityOptions);
  await expect(activities.plan({} as PlanRequest)).rejects.toMatchObject(givenUp);
});
