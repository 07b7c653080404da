import { VirtualMachinePools } from '../../../api/resources.ts';
import { withRolesOf } from '../../../decisions/membership/roles.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { MemberCaches } from './member-caches.ts';
import type { OwnerCaches } from './owner-caches.ts';

/** Gives a VM the role that its pool's record told when this worker last saw it. */
export function withKnownRole(pools: Pick<OwnerCaches['pools'], 'get'>, vm: VmView): VmView {
  const { owner, namespace } = vm;
  if (owner?.kind !== VirtualMachinePools.kind) return vm;
  const pool = pools.get(`${namespace}/${owner.name}`);
  return pool?.metadata.uid === owner.uid ? withRolesOf(pool)(vm) : vm;
}

/** Gives VMs of a pool the roles that its record tells from now on. */
export function changeRoles(
  vms: MemberCaches['vms'],
  before: StoredPool | undefined,
  after: StoredPool | undefined,
): void {
  if (JSON.stringify(before?.status?.roles) === JSON.stringify(after?.status?.roles)) return;
  const withRole = withRolesOf(after);
  for (const { metadata } of [before, after].filter((pool) => pool !== undefined))
    for (const { namespace, name } of vms.ownedBy('VirtualMachinePool', metadata))
      vms.amend(`${namespace}/${name}`, withRole);
}

/** The UIDs of the pool's VMs whose role label says what its record, as this worker knows it, does not. */
export const mislabelled = ({ vms }: Pick<MemberCaches, 'vms'>, { metadata }: StoredPool): string[] =>
  vms
    .ownedBy('VirtualMachinePool', metadata)
    .filter(({ role, roleLabel }) => roleLabel !== null && roleLabel !== role)
    .map(({ uid }) => uid);
