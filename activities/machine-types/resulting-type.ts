import { VirtualMachines } from '../../api/resources.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { typePatch } from '../../decisions/machine-types/type-patch.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';

/**
 * Returns the machine type that the VM would have if its own were set to `to`, or cleared (null); null if nothing fills
 * it in. The API server runs all of KubeVirt's admission, and writes nothing. Throws `KubeError` if the API server
 * refuses the change.
 */
export async function resultingType(client: KubeClient, vm: VmView, to: string | null): Promise<string | null> {
  const patch = typePatch({ uid: vm.uid }, { machineType: to });
  const { spec } = await client.patch<VirtualMachine>(VirtualMachines, vm, 'merge', patch, { dryRun: true });
  return spec?.template?.spec?.domain?.machine?.type || null;
}
