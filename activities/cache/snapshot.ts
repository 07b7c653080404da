import type { PoolPlanInput } from '../../decisions/pool/plan-input.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { Fleet } from './cluster-cache.ts';

/** All that a plan reads of the cluster, from this worker's caches. */
export function pictureOf(
  fleet: Fleet,
  pool: StoredPool,
): Pick<
  PoolPlanInput,
  | 'pool'
  | 'vms'
  | 'vmiOf'
  | 'failedGuestsOf'
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
    vms: fleet.ownedBy(uid),
    vmiOf: (vm) => fleet.vmiOf(vm),
    failedGuestsOf: (vm) => fleet.failedGuestsOf(vm.uid),
    lastTroubleOf: (vm) => fleet.lastTroubleOf(vm.uid),
    witnessOf: (vm) => fleet.witnessOf(vm.uid),
    isHeldByOther: (name) => fleet.isHeldByOther(namespace, name, uid),
    revisions: fleet.revisionsOf(uid),
    keptClaims: fleet.keptClaimsOf(uid),
    strategy: fleet.rolloutStrategy(),
  };
}
