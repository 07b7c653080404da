import type { PoolPlanInput } from '../../decisions/pool/plan-input.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { ClusterCache } from './cluster-cache.ts';

/** Returns everything that a plan reads about the cluster, from this worker's caches. */
export function snapshotOf(
  cache: ClusterCache,
  pool: StoredPool,
): Pick<
  PoolPlanInput,
  | 'pool'
  | 'vms'
  | 'vmiOf'
  | 'failedVmisOf'
  | 'lastTroubleOf'
  | 'witnessOf'
  | 'isHeldByOther'
  | 'revisions'
  | 'keptClaims'
  | 'strategy'
> {
  const { namespace, uid } = pool.metadata;
  return {
    pool,
    vms: cache.ownedBy(uid),
    vmiOf: (vm) => cache.vmiOf(vm),
    failedVmisOf: (vm) => cache.failedVmisOf(vm.uid),
    lastTroubleOf: (vm) => cache.lastTroubleOf(vm.uid),
    witnessOf: (vm) => cache.witnessOf(vm.uid),
    isHeldByOther: (name) => cache.isHeldByOther(namespace, name, uid),
    revisions: cache.revisionsOf(uid),
    keptClaims: cache.keptClaimsOf(uid),
    strategy: cache.rolloutStrategy(),
  };
}
