import type { PoolSnapshot } from '../../decisions/pool/plan-input.ts';
import type { VmiSetInput, ReplicaSetInput } from '../../decisions/replica-sets/plan-input.ts';
import type { StoredVmiSet, StoredReplicaSet } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { remembered } from './remembered.ts';

/** Returns everything that a plan reads about the cluster, from this worker's caches. */
export function snapshotOf(cache: ClusterCache, pool: StoredPool): PoolSnapshot {
  const { namespace } = pool.metadata;
  return {
    pool,
    vms: cache.vms.ownedBy('VirtualMachinePool', pool.metadata),
    uncontrolled: cache.vms.uncontrolledIn(namespace),
    vmiOf: remembered((vm) => cache.vmiOf(vm)),
    failedVmisOf: (vm) => cache.failedVmis.of(vm),
    lastFailureOf: (vm) => cache.failedVmis.reasonOf(vm),
    vmiHistoryOf: (vm) => cache.vmiHistories.of(vm),
    isVmNameTaken: (vm) => cache.vms.isNameTaken('VirtualMachinePool', pool.metadata, vm),
    zoneOf: (node) => cache.nodes.get(node)?.zone ?? null,
    nodeCounts: () => cache.nodes.count(),
    nodeLabelsOf: (node) => cache.nodes.get(node)?.labels,
    revisions: cache.revisions.of(pool.metadata),
    keptClaims: cache.keptClaims.of(pool.metadata),
    contents: cache.contents.of(pool),
    strategy: cache.rolloutStrategy(),
    plugs: cache.kubevirtPlugs(),
    expandedOf: (revision) => cache.expansions.known(namespace, revision),
  };
}

/** Returns everything that the plan of a set of VMs reads about the cluster, from this worker's caches. */
export function setSnapshot(
  cache: ClusterCache,
  set: StoredReplicaSet,
): Pick<ReplicaSetInput, 'set' | 'vms' | 'uncontrolled' | 'vmiOf' | 'isVmNameTaken' | 'sets' | 'otherVms'> {
  return {
    set,
    vms: cache.vms.ownedBy('VirtualMachineReplicaSet', set.metadata),
    uncontrolled: cache.vms.uncontrolledIn(set.metadata.namespace),
    vmiOf: remembered((vm) => cache.vmiOf(vm)),
    isVmNameTaken: (name) => cache.vms.isNameTaken('VirtualMachineReplicaSet', set.metadata, name),
    sets: cache.replicaSets.values(),
    otherVms: cache.vms.othersBeside('VirtualMachineReplicaSet', set.metadata),
  };
}

/** Returns everything that the plan of a set of VMIs reads about the cluster, from this worker's caches. */
export function vmiSetSnapshot(
  cache: ClusterCache,
  set: StoredVmiSet,
): Pick<VmiSetInput, 'set' | 'vmis' | 'uncontrolled' | 'isVmNameTaken' | 'sets' | 'otherVms' | 'otherVmis'> {
  return {
    set,
    vmis: cache.vmisOf(set.metadata),
    uncontrolled: cache.uncontrolledVmisIn(set.metadata.namespace),
    isVmNameTaken: (name) => cache.isVmiNameTaken(set.metadata, name),
    sets: cache.vmiSets.values(),
    otherVms: cache.vms.othersBeside('VirtualMachineInstanceReplicaSet', set.metadata),
    otherVmis: cache.vmis.othersBeside('VirtualMachineInstanceReplicaSet', set.metadata),
  };
}
