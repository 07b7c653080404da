import type { PoolPlanInput } from '../../decisions/pool/plan-input.ts';
import type { VmiSetInput, ReplicaSetInput } from '../../decisions/replica-sets/plan-input.ts';
import type { StoredVmiSet, StoredReplicaSet } from '../../decisions/views/owner.ts';
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
  | 'uncontrolled'
  | 'vmiOf'
  | 'failedVmisOf'
  | 'lastFailureOf'
  | 'vmiHistoryOf'
  | 'isVmNameTaken'
  | 'zoneOf'
  | 'revisions'
  | 'keptClaims'
  | 'podBudget'
  | 'contents'
  | 'strategy'
> {
  const { namespace, name, uid } = pool.metadata;
  return {
    pool,
    vms: cache.ownedBy(uid),
    uncontrolled: cache.uncontrolledIn(namespace),
    vmiOf: (vm) => cache.vmiOf(vm),
    failedVmisOf: (vm) => cache.failedVmisOf(vm.uid),
    lastFailureOf: (vm) => cache.lastFailureOf(vm.uid),
    vmiHistoryOf: (vm) => cache.vmiHistoryOf(vm.uid),
    isVmNameTaken: (vm) => cache.isVmNameTaken(namespace, vm, uid),
    zoneOf: (node) => cache.nodes.get(node)?.zone ?? null,
    revisions: cache.revisionsOf(uid),
    keptClaims: cache.keptClaimsOf(uid),
    podBudget: cache.podBudgetOf(namespace, name),
    contents: cache.contents.of(pool),
    strategy: cache.rolloutStrategy(),
  };
}

/** Returns everything that the plan of a set of VMs reads about the cluster, from this worker's caches. */
export function setSnapshot(
  cache: ClusterCache,
  set: StoredReplicaSet,
): Pick<ReplicaSetInput, 'set' | 'vms' | 'uncontrolled' | 'vmiOf' | 'isVmNameTaken' | 'sets' | 'otherVms'> {
  const { namespace, uid } = set.metadata;
  return {
    set,
    vms: cache.ownedBy(uid),
    uncontrolled: cache.uncontrolledIn(namespace),
    vmiOf: (vm) => cache.vmiOf(vm),
    isVmNameTaken: (name) => cache.isVmNameTaken(namespace, name, uid),
    sets: cache.replicaSets.values(),
    otherVms: cache.otherVmsIn(namespace, uid),
  };
}

/** Returns everything that the plan of a set of VMIs reads about the cluster, from this worker's caches. */
export function vmiSetSnapshot(
  cache: ClusterCache,
  set: StoredVmiSet,
): Pick<VmiSetInput, 'set' | 'vmis' | 'uncontrolled' | 'isVmNameTaken' | 'sets' | 'otherVms' | 'otherVmis'> {
  const { namespace, uid } = set.metadata;
  return {
    set,
    vmis: cache.vmisOf(uid),
    uncontrolled: cache.uncontrolledVmisIn(namespace),
    isVmNameTaken: (name) => cache.isVmiNameTaken(namespace, name, uid),
    sets: cache.vmiSets.values(),
    otherVms: cache.otherVmsIn(namespace, uid),
    otherVmis: cache.otherVmisIn(namespace, uid),
  };
}
