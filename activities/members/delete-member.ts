import type { DeleteOptions } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { LastCheck } from '../../kubernetes/retry.ts';
import { keepSharedDisks, type DiskKeeper } from '../disks/shared-disks.ts';
import {
  ifOwned,
  type OwnedActResult,
  type OwnedVm,
  type IfOwnedOptions,
  type SeenMember,
} from '../owners/if-owned.ts';
import { kindOfOwner } from '../owners/kinds.ts';
import type { OwnerKey } from '../owners/owner-key.ts';

type Deletion = IfOwnedOptions & Required<Pick<DeleteOptions, 'propagationPolicy'>>;

/**
 * Deletes the VM or VMI while its owner controls it; if it is already deleted, that counts as done. Throws a
 * `KubeError` with the reason `DiskHeld` if a disk would go with the VM that another uses.
 */
export function deleteVm(
  keeper: DiskKeeper,
  key: OwnerKey,
  vm: OwnedVm,
  { propagationPolicy, ...how }: Deletion,
): Promise<OwnedActResult> {
  const { client } = keeper;
  const remove = async ({ uid, resourceVersion, vm: member }: SeenMember, lastCheck: LastCheck): Promise<void> => {
    if (member !== null) await keepSharedDisks(keeper, member);
    const options = { uid, resourceVersion, propagationPolicy, lastCheck };
    await ignoreNotFound(
      client.delete(kindOfOwner(key).members.resource, { namespace: key.namespace, name: vm.name }, options),
    );
  };
  return ifOwned(client, key, vm, remove, how);
}
