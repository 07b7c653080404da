import { cancellationSignal } from '@temporalio/activity';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { Seen } from '../../decisions/lib/resource-versions.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isNotFound, KubeError } from '../../kubernetes/errors.ts';

/** Run strategies under which KubeVirt starts a VM again by itself when its VMI is deleted. */
const COMES_BACK = new Set(['Always', 'Once']);

/**
 * Restarts this guest of the VM and no other: a restart that was asked for already is not asked for again.
 * Returns what must be seen of the VM and its VMI to see that, where the API server tells it.
 */
export async function restartVm(client: KubeClient, vm: VmView, guest: VmiView): Promise<Seen> {
  const signal = cancellationSignal();
  const { namespace, name } = vm;
  if (COMES_BACK.has(vm.runStrategy)) {
    try {
      const left = await client.delete(VirtualMachineInstances, { namespace, name }, { uid: guest.uid, signal });
      return { vmis: left.metadata?.resourceVersion };
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return {};
      throw error;
    }
  }
  // KubeVirt stops a halted one by itself.
  if (vm.changingState || vm.runStrategy === 'Halted') return { vms: vm.resourceVersion };
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/virtualmachines/${encodeURIComponent(name)}/restart`;
  try {
    await client.request({ method: 'PUT', path, body: {}, signal });
  } catch (error) {
    // KubeVirt's answer to a second request while the first is carried out.
    if (error instanceof KubeError && error.status === 500 && error.message.includes('already underway')) return {};
    throw error;
  }
  const asked = await client.get(VirtualMachines, { namespace, name }, { signal }).catch(() => undefined);
  return { vms: asked?.metadata.resourceVersion };
}
