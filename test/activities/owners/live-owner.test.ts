import { describe, expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { knownPool } from '../../../activities/owners/live-owner.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aPool } from '../../decisions/fixtures/fleets.ts';

const first = aPool({}, { uid: 'first' });
const second = aPool({}, { uid: 'second' });

/** Returns the UID of the pool that a worker finds, with `cached` in its cache and `stored` in the API server. */
async function found(
  uid: string | undefined,
  cached: StoredPool | undefined,
  stored: StoredPool | undefined,
): Promise<string | undefined> {
  const cache = { pools: { get: () => cached } } as unknown as ClusterCache;
  const get = (): Promise<StoredPool> =>
    stored === undefined ? Promise.reject(new KubeError(404, 'NotFound', '')) : Promise.resolve(stored);
  const client = { get } as unknown as KubeClient;
  const pool = await knownPool(client, cache, {
    namespace: 'shop',
    name: 'web',
    ...(uid === undefined ? {} : { uid }),
  });
  return pool?.metadata.uid;
}

describe('a pool that was recreated under its name', () => {
  test('is read from the API server while the cache still holds the previous pool', async () => {
    expect(await found('second', first, second)).toBe('second');
    expect(await found('second', undefined, second)).toBe('second');
  });

  test('is not confused with the previous pool', async () => {
    expect(await found('first', second, second)).toBeUndefined();
    expect(await found('first', undefined, second)).toBeUndefined();
  });
});

test('a pool is read from the cache if that has it, and the API server decides whether it is gone', async () => {
  expect(await found('first', first, undefined)).toBe('first');
  expect(await found(undefined, first, second)).toBe('first');
  expect(await found(undefined, undefined, second)).toBe('second');
  expect(await found('first', undefined, undefined)).toBeUndefined();
});
