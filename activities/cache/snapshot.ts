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
    vms: cache.vms.ownedBy(uid),
    uncontrolled: cache.vms.uncontrolledIn(namespace),
    vmiOf: (vm) => cache.vmiOf(vm),
    failedVmisOf: (vm) => cache.failedVmis.of(vm.uid),
    lastFailureOf: (vm) => cache.failedVmis.reasonOf(vm.uid),
    vmiHistoryOf: (vm) => cache.vmiHistories.of(vm.uid),
    isVmNameTaken: (vm) => cache.vms.isNameTaken(namespace, vm, uid),
    zoneOf: (node) => cache.nodes.get(node)?.zone ?? null,
    revisions: cache.revisions.of(uid),
    keptClaims: cache.keptClaims.of(uid),
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
    vms: cache.vms.ownedBy(uid),
    uncontrolled: cache.vms.uncontrolledIn(namespace),
    vmiOf: (vm) => cache.vmiOf(vm),
    isVmNameTaken: (name) => cache.vms.isNameTaken(namespace, name, uid),
    sets: cache.replicaSets.values(),
    otherVms: cache.vms.othersIn(namespace, uid),
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
    otherVms: cache.vms.othersIn(namespace, uid),
    otherVmis: cache.vmis.othersIn(namespace, uid),
  };
}
