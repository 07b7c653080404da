import { claimedNames } from '../../decisions/disruption-budget/claims.ts';
import type { OwningPool, VmsSnapshot } from '../../decisions/disruption-budget/restart-budget.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy, type VmView } from '../../decisions/views/vm.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';

/** Looks up VMs of any owner in this worker's caches. */
export const snapshotOfVms = (cache: ClusterCache): VmsSnapshot => ({
  vmOf: (key) => cache.vms.get(key),
  vmiOf: (vm) => cache.vmiOf(vm),
  poolOf: (vm) =>
    owningPool(cache, vm, vm.owner === null ? undefined : cache.pools.get(`${vm.namespace}/${vm.owner.name}`)),
});

/** Returns the pool, if it owns the VM. */
export function owningPool(cache: ClusterCache, vm: VmView, pool: StoredPool | undefined): OwningPool | undefined {
  if (pool === undefined || !isOwnedBy(vm, 'VirtualMachinePool', pool.metadata)) return undefined;
  const vms = (): VmView[] => cache.vms.ownedBy('VirtualMachinePool', pool.metadata);
  return { pool, vms, claimed: () => claimedNames({ pool, vms: vms(), vmiOf: (vm) => cache.vmiOf(vm) }, Date.now()) };
}
