import { type Stored } from '../../api/objects.ts';
import { isControlledBy, identityOf } from '../../api/owner-references.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/views/from-object/vmi.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
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

/** Returns the VM of this name, and the VMI that is its own, as the API server has them now. */
export async function liveVmWithVmi(
  client: KubeClient,
  { namespace, name }: ObjectKey,
): Promise<{ vm?: Stored<VirtualMachine>; vmi?: VmiView }> {
  const [vm, vmi] = await Promise.all([
    liveVm(client, { namespace, name }),
    ignoreNotFound(client.get<VirtualMachineInstance>(VirtualMachineInstances, { namespace, name })),
  ]);
  if (vm === undefined) return {};
  const isOwn = vmi !== undefined && isControlledBy(vmi, VirtualMachines, identityOf(vm));
  return isOwn ? { vm, vmi: vmiView(vmi) } : { vm };
}
