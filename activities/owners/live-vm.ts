import type { Stored } from '../../api/objects.ts';
import { isControlledBy, identityOf } from '../../api/owner-references.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { kindOfOwner } from './kinds.ts';
import type { OwnerKey } from './owner-key.ts';

/** Returns the VM of this name as the API server has it now; undefined if there is none. */
export const liveVm = (
  client: KubeClient,
  { namespace, name }: ObjectKey,
): Promise<Stored<VirtualMachine> | undefined> =>
  ignoreNotFound(client.get<VirtualMachine>(VirtualMachines, { namespace, name }));

/** Returns the member of this name that a pool or a set of this kind has, or would have, as `liveVm` does the VM. */
export const liveMember = (
  client: KubeClient,
  key: Partial<OwnerKey>,
  { namespace, name }: ObjectKey,
): Promise<Stored | undefined> => ignoreNotFound(client.get(kindOfOwner(key).members.resource, { namespace, name }));

/** A VM as the API server has it. */
export interface LiveVm {
  stored: Stored<VirtualMachine>;
  vm: VmView;
  /** Its own, with what only other objects show. */
  vmi: VmiView | undefined;
}

/** Returns the VM of this name with its VMI, as the API server has them now; undefined if the VM does not exist. */
export async function liveVmWithVmi(
  { client, cache }: LiveAccess,
  { namespace, name }: ObjectKey,
): Promise<LiveVm | undefined> {
  const [stored, found] = await Promise.all([
    liveVm(client, { namespace, name }),
    ignoreNotFound(client.get<VirtualMachineInstance>(VirtualMachineInstances, { namespace, name })),
  ]);
  if (stored === undefined) return undefined;
  const isOwn = found !== undefined && isControlledBy(found, VirtualMachines, identityOf(stored));
  return { stored, vm: cache.vmView(stored), vmi: isOwn ? cache.withSurroundings(vmiView(found)) : undefined };
}

interface LiveAccess {
  client: KubeClient;
  cache: Pick<ClusterCache, 'vmView' | 'withSurroundings'>;
}
