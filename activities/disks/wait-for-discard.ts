import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { ClaimTarget } from './discard.ts';

const PATIENCE_MS = 5_000;

/** Resolves once the cache shows none of these claims as kept: a plan before that would have them deleted again. */
export async function waitForDiscard(
  cache: Pick<ClusterCache, 'keptClaims' | 'subscribe'>,
  namespace: string,
  claims: readonly ClaimTarget[],
): Promise<void> {
  const isKept = ({ name, uid }: ClaimTarget): boolean => {
    const claim = cache.keptClaims.get(`${namespace}/${name}`);
    return claim?.uid === uid && !claim.deleting;
  };
  if (!claims.some(isKept)) return;
  const gone = Promise.withResolvers<void>();
  const unsubscribe = cache.subscribe(({ kind }) => {
    if (kind === 'disk' && !claims.some(isKept)) gone.resolve();
  });
  const patience = new AbortController();
  try {
    const late = sleep(PATIENCE_MS, 'late', { signal: patience.signal }).catch(() => undefined);
    if ((await Promise.race([gone.promise, late])) === 'late') await cache.keptClaims.relist();
  } finally {
    patience.abort();
    unsubscribe();
  }
}
