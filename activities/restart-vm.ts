import { cancellationSignal } from '@temporalio/activity';
import type { VmView } from '../decisions/vm.ts';
import type { VmiView } from '../decisions/vmi.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { isConflict, isNotFound, KubeError } from '../kubernetes/errors.ts';
import { VirtualMachineInstances } from '../kubernetes/resources.ts';

/** Run strategies under which KubeVirt starts a VM again by itself when its VMI is deleted. */
const COMES_BACK = new Set(['Always', 'Once']);

/**
 * Restarts this guest of the VM and no other: a restart that was asked for already is not asked for again.
 * Returns the resource version of the VMI as it was left, where the API server tells it.
 */
export async function restartVm(client: KubeClient, vm: VmView, guest: VmiView): Promise<string | undefined> {
  const signal = cancellationSignal();
  const { namespace, name } = vm;
  if (COMES_BACK.has(vm.runStrategy)) {
    try {
      const left = await client.delete(VirtualMachineInstances, { namespace, name }, { uid: guest.uid, signal });
      return left.metadata?.resourceVersion;
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return undefined;
      throw error;
    }
  }
  // KubeVirt stops a halted one by itself.
  if (vm.changingState || vm.runStrategy === 'Halted') return undefined;
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/virtualmachines/${encodeURIComponent(name)}/restart`;
  try {
    await client.request({ method: 'PUT', path, body: {}, signal });
  } catch (error) {
    // KubeVirt's answer to a second request while the first is carried out.
    if (error instanceof KubeError && error.status === 500 && error.message.includes('already underway')) return undefined;
    throw error;
  }
  return undefined;
}
