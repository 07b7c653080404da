import type { KubeObject } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { PoolKey } from './types.ts';

/**
 * Returns the pool as the API server has it now; undefined if it is deleted, or another has taken its name. A worker's
 * cache may be as old as the worker was suspended: whatever acts on a pool's spec reads it again.
 */
export async function livePool(
  client: KubeClient,
  key: PoolKey,
  signal?: AbortSignal,
): Promise<StoredPool | undefined> {
  const pool = await read(client, key, signal);
  return pool?.metadata.uid === key.uid ? pool : undefined;
}

/** The pool that is meant; without `uid`, any pool of that name. */
type Meant = Omit<PoolKey, 'uid'> & Partial<PoolKey>;

/**
 * Returns the pool from this worker's cache, for uses that need no newer one; undefined if it is deleted. The cache may
 * not know the pool yet, or still hold an earlier one of its name: only the API server can tell that a pool is deleted.
 */
export async function knownPool(
  client: KubeClient,
  cache: ClusterCache,
  meant: Meant,
  signal?: AbortSignal,
): Promise<StoredPool | undefined> {
  const isMeant = (pool: StoredPool): boolean => meant.uid === undefined || pool.metadata.uid === meant.uid;
  const cached = cache.pools.get(`${meant.namespace}/${meant.name}`);
  if (cached !== undefined && isMeant(cached)) return cached;
  const live = await read(client, meant, signal);
  return live !== undefined && isMeant(live) ? live : undefined;
}

async function read(
  client: KubeClient,
  { namespace, name }: ObjectKey,
  signal: AbortSignal | undefined,
): Promise<StoredPool | undefined> {
  const pool = await ignoreNotFound(client.get<KubeObject>(VirtualMachinePools, { namespace, name }, { signal }));
  return pool as StoredPool | undefined;
}
