import type { KubeObject } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { PoolKey } from './types.ts';

/**
 * The pool as the API server has it in this moment; undefined if it is gone, or another has taken its name. A worker's
 * cache may be as old as the worker was suspended: what acts on a pool's wish asks for it anew.
 */
export async function livePool(
  client: KubeClient,
  { namespace, name, uid }: PoolKey,
  signal?: AbortSignal,
): Promise<StoredPool | undefined> {
  const pool = await ignoreNotFound(client.get<KubeObject>(VirtualMachinePools, { namespace, name }, { signal }));
  return pool?.metadata.uid === uid ? (pool as unknown as StoredPool) : undefined;
}

/** Which pool is meant; without `uid`, whichever has that name. */
type Meant = Omit<PoolKey, 'uid'> & Partial<PoolKey>;

/**
 * The pool as this worker's cache has it, for what needs no newer one; undefined if it is gone. The cache may not know
 * it yet, or still know another that had its name before: only the API server can say that a pool is gone.
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
  const live = (await ignoreNotFound(client.get<KubeObject>(VirtualMachinePools, meant, { signal }))) as
    | StoredPool
    | undefined;
  return live !== undefined && isMeant(live) ? live : undefined;
}
