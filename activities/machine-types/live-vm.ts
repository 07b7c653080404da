import { cancellationSignal } from '@temporalio/activity';
import type { Stored } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { VirtualMachine } from '../../decisions/views/vm-from-object.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { isNotFound } from '../../kubernetes/errors.ts';

/** Returns the VM of this name as the API server has it now; undefined if there is none. */
export async function liveVm(
  client: KubeClient,
  { namespace, name }: ObjectKey,
): Promise<Stored<VirtualMachine> | undefined> {
  try {
    return await client.get<VirtualMachine>(VirtualMachines, { namespace, name }, { signal: cancellationSignal() });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
