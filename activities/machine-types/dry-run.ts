import { cancellationSignal } from '@temporalio/activity';
import type { VmView } from '../../decisions/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { VirtualMachines } from '../../kubernetes/resources.ts';
import type { VirtualMachine } from '../vm-view.ts';
import { beforeOfView, typePatch } from './type-patch.ts';

/**
 * The machine type that the VM would have if its own were set to `to`, or cleared (null): the API server runs all that KubeVirt does
 * on admission, and writes nothing. Null where nothing fills it in. Throws `KubeError` where the API server would not have it.
 */
export async function resultingType(client: KubeClient, vm: VmView, to: string | null): Promise<string | null> {
  const patch = typePatch(beforeOfView(vm), { machineType: to });
  const { spec } = await client.patch<VirtualMachine>(VirtualMachines, vm, 'json', patch, { dryRun: true, signal: cancellationSignal() });
  return spec?.template?.spec?.domain?.machine?.type || null;
}
