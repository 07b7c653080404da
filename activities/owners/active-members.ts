import { matchesLabels } from '../../api/rules/label-selector.ts';
import { isActive } from '../../decisions/health/availability.ts';
import { withRolesOf } from '../../decisions/membership/roles.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import { isActiveVmi } from '../../decisions/replica-sets/replica.ts';
import type { StoredVmiSet, StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { MemberRole, VmView } from '../../decisions/views/vm.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { OwnerKey } from './owner-key.ts';

/**
 * Returns the replicas of a pool or a set that stay, be they VMs or VMIs, or the members of a role of a pool, as far as
 * this worker's caches know.
 */
export const activeMembers = (
  cache: ClusterCache,
  key: OwnerKey,
  owner: StoredVmOwner | undefined,
  role: MemberRole | null = null,
): Member[] =>
  key.kind === 'VirtualMachineInstanceReplicaSet'
    ? activeVmis(cache, key, owner)
    : ofRole(ownedVms(cache, key).filter(isActive), key, owner, role);

const ofRole = (
  vms: VmView[],
  { kind }: OwnerKey,
  owner: StoredVmOwner | undefined,
  role: MemberRole | null,
): VmView[] =>
  kind === undefined ? vms.map(withRolesOf(owner as StoredPool | undefined)).filter((vm) => vm.role === role) : vms;

/** Returns the members that hold places in a set: a VM does until it is gone. */
export const nameHolders = (cache: ClusterCache, key: OwnerKey, owner: StoredVmOwner | undefined): { name: string }[] =>
  key.kind === 'VirtualMachineInstanceReplicaSet' ? activeVmis(cache, key, owner) : ownedVms(cache, key);

const ownedVms = (cache: ClusterCache, key: OwnerKey): VmView[] =>
  cache.vms.ownedBy(key.kind ?? 'VirtualMachinePool', key);

function activeVmis(cache: ClusterCache, key: OwnerKey, owner: StoredVmOwner | undefined): Member[] {
  if (owner === undefined) return [];
  const { selector } = (owner as StoredVmiSet).spec;
  return cache.vmisOf(key).filter((vmi) => isActiveVmi(vmi) && matchesLabels(selector, vmi.standalone?.labels ?? {}));
}
