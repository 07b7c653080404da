import type { PoolPlanInput } from '../../decisions/pool/plan-input.ts';
import type { InstanceSetInput, ReplicaSetInput } from '../../decisions/replica-sets/plan.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { StoredInstanceSet, StoredReplicaSet } from '../../decisions/views/vm-owner.ts';
import type { ClusterCache } from './cluster-cache.ts';

/** Returns everything that a plan reads about the cluster, from this worker's caches. */
export function snapshotOf(
  cache: ClusterCache,
  pool: StoredPool,
): Pick<
  PoolPlanInput,
  | 'pool'
  | 'vms'
  | 'uncontrolled'
  | 'vmiOf'
  | 'failedVmisOf'
  | 'lastFailureOf'
  | 'witnessOf'
  | 'isHeldByOther'
  | 'zoneOf'
  | 'revisions'
  | 'keptClaims'
  | 'podBudgets'
  | 'contents'
  | 'strategy'
> {
  const { namespace, uid } = pool.metadata;
  return {
    pool,
    vms: cache.ownedBy(uid),
    uncontrolled: cache.uncontrolledIn(namespace),
    vmiOf: (vm) => cache.vmiOf(vm),
    failedVmisOf: (vm) => cache.failedVmisOf(vm.uid),
    lastFailureOf: (vm) => cache.lastFailureOf(vm.uid),
    witnessOf: (vm) => cache.witnessOf(vm.uid),
    isHeldByOther: (name) => cache.isHeldByOther(namespace, name, uid),
    zoneOf: (node) => cache.nodes.get(node)?.zone ?? null,
    revisions: cache.revisionsOf(uid),
    keptClaims: cache.keptClaimsOf(uid),
    podBudgets: cache.podBudgetsOf(uid),
    contents: cache.contents.of(pool),
    strategy: cache.rolloutStrategy(),
  };
}

/** Returns everything that the plan of a set of VMs reads about the cluster, from this worker's caches. */
export function setSnapshot(
  cache: ClusterCache,
  set: StoredReplicaSet,
): Pick<ReplicaSetInput, 'set' | 'vms' | 'uncontrolled' | 'vmiOf' | 'isHeldByOther'> {
  const { namespace, uid } = set.metadata;
  return {
    set,
    vms: cache.ownedBy(uid),
    uncontrolled: cache.uncontrolledIn(namespace),
    vmiOf: (vm) => cache.vmiOf(vm),
    isHeldByOther: (name) => cache.isHeldByOther(namespace, name, uid),
  };
}

/** Returns everything that the plan of a set of VMIs reads about the cluster, from this worker's caches. */
export function instanceSetSnapshot(
  cache: ClusterCache,
  set: StoredInstanceSet,
): Pick<InstanceSetInput, 'set' | 'vmis' | 'uncontrolled' | 'isHeldByOther'> {
  const { namespace, uid } = set.metadata;
  return {
    set,
    vmis: cache.instancesOf(uid),
    uncontrolled: cache.uncontrolledInstancesIn(namespace),
    isHeldByOther: (name) => cache.isInstanceHeldByOther(namespace, name, uid),
  };
}
