import type { KubeObject } from '../../api/objects.ts';
import type { SetKind } from '../../api/owner-kinds.ts';
import { ownerView } from '../../decisions/from-object/owner.ts';
import type { StoredSet, StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient, WriteOptions } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { retryOnConflict, type RetryOptions } from '../../kubernetes/retry.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { patchKept, type ObjectPatch } from '../lib/refuse-unkept.ts';
import type { Done } from './done.ts';
import { kindOfOwner, versionsOf } from './kinds.ts';
import type { OwnerKey, PoolKey } from './owner-key.ts';

/**
 * Returns the pool or set as the API server has it now; undefined if it is deleted, or another has taken its name. A
 * worker's cache may be as old as the worker was suspended: whatever acts on a spec reads it again.
 */
export async function liveOwner(client: KubeClient, key: OwnerKey): Promise<StoredVmOwner | undefined> {
  const owner = await read(client, key);
  return owner?.metadata.uid === key.uid ? owner : undefined;
}

/** Returns the pool as `liveOwner` does. */
export const livePool = (client: KubeClient, { namespace, name, uid }: PoolKey): Promise<StoredPool | undefined> =>
  liveOwner(client, { namespace, name, uid }) as Promise<StoredPool | undefined>;

/** The pool that is meant; without `uid`, any pool of that name. */
type Meant = Omit<PoolKey, 'uid'> & Partial<PoolKey>;

/**
 * Returns the pool from this worker's cache, for uses that need no newer one; undefined if it is deleted. The cache may
 * not know the pool yet, or still hold an earlier one of its name: only the API server can tell that a pool is deleted.
 */
export const knownPool = (client: KubeClient, cache: ClusterCache, meant: Meant): Promise<StoredPool | undefined> =>
  knownOwner(client, cache, { ...meant, kind: undefined }) as Promise<StoredPool | undefined>;

/** Returns the set as `knownPool` does the pool. */
export const knownSet = (
  client: KubeClient,
  cache: ClusterCache,
  meant: Meant & { kind: SetKind },
): Promise<StoredSet | undefined> => knownOwner(client, cache, meant) as Promise<StoredSet | undefined>;

type MeantOwner = Meant & Pick<OwnerKey, 'kind'>;

/** Returns the pool or set as `knownPool` does the pool. */
async function knownOwner(
  client: KubeClient,
  cache: ClusterCache,
  meant: MeantOwner,
): Promise<StoredVmOwner | undefined> {
  const { kind, namespace, name, uid } = meant;
  const isMeant = (owner: StoredVmOwner): boolean => uid === undefined || owner.metadata.uid === uid;
  const cached: StoredVmOwner | undefined = cache[kindOfOwner({ kind }).cache].get(`${namespace}/${name}`);
  if (cached !== undefined && isMeant(cached)) return cached;
  const live = await read(client, meant);
  return live !== undefined && isMeant(live) ? live : undefined;
}

async function read(client: KubeClient, { kind, namespace, name }: MeantOwner): Promise<StoredVmOwner | undefined> {
  const owner = await ignoreNotFound(client.get<KubeObject>(kindOfOwner({ kind }).resource, { namespace, name }));
  return owner && ownerView(owner);
}

/** What is to be changed of an owner; null if it is right as it is. */
type Change = ObjectPatch | null | Promise<ObjectPatch | null>;

/**
 * Changes the pool or set as the API server has it, and again if another client writes it in between. `count`: 0 if
 * there was nothing to change; `minVersions`: what a later plan must have seen.
 */
export const patchOwner = (
  client: KubeClient,
  key: OwnerKey,
  changeOf: (owner: StoredVmOwner) => Change,
  options: WriteOptions & RetryOptions = {},
): Promise<Pick<Done, 'count' | 'minVersions'>> =>
  retryOnConflict(async () => {
    const owner = await liveOwner(client, key);
    // A plan whose cache still has it need not learn that it is gone.
    if (owner === undefined) return { count: 0, minVersions: {} };
    const { resourceVersion } = owner.metadata;
    const change = await changeOf(owner);
    if (change === null) return { count: 0, minVersions: versionsOf(key, resourceVersion) };
    const patch = { ...change, metadata: { ...change.metadata, resourceVersion } };
    const written = await ignoreNotFound(patchKept(client, kindOfOwner(key).resource, key, patch, options));
    return { count: 1, minVersions: versionsOf(key, written?.metadata.resourceVersion) };
  }, options);

/** Changes the pool as `patchOwner` does. */
export const patchPool = (
  client: KubeClient,
  { namespace, name, uid }: PoolKey,
  changeOf: (pool: StoredPool) => Change,
  options?: WriteOptions & RetryOptions,
): ReturnType<typeof patchOwner> =>
  patchOwner(client, { namespace, name, uid }, (owner) => changeOf(owner as StoredPool), options);
