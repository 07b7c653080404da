import { VirtualMachineInstances } from '../../api/resources.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import type { Place } from '../disruption-budget/in-place.ts';
import { callSubresource } from './call-subresource.ts';
import { refuseLeft } from './refuse-left.ts';

/** Run strategies under which KubeVirt starts a VM again by itself when its VMI is deleted. */
const COMES_BACK = new Set(['Always', 'Once']);

/**
 * Restarts this VMI of the VM and no other; does not ask again for a restart that was already asked for. Returns what a
 * cache must have reached to show that, if the API server tells it. Throws a conflict if the VMI was not ready and has
 * changed since: a VM without service needs no place in a budget, and may have come up; or if the VM has left its
 * owner. `place`: its place there.
 */
export async function restartVm(client: KubeClient, vm: VmView, vmi: VmiView, place: Place): Promise<ResourceVersions> {
  const { lastCheck } = place;
  const { namespace, name } = vm;
  // KubeVirt stops a halted VM by itself.
  if (vm.runStrategy === 'Halted') return { vms: vm.resourceVersion };
  await refuseLeft(client, vm, place);
  if (COMES_BACK.has(vm.runStrategy)) {
    const at = { namespace, name };
    const { uid, resourceVersion, ready } = vmi;
    const left = ready
      ? await ignoreStale(client.delete(VirtualMachineInstances, at, { uid, lastCheck }))
      : await ignoreNotFound(client.delete(VirtualMachineInstances, at, { uid, resourceVersion, lastCheck }));
    return { vmis: left?.metadata?.resourceVersion };
  }
  if (vm.changingState) return { vms: vm.resourceVersion };
  return callSubresource(client, vm, 'restart', lastCheck);
}
