import { VirtualMachineInstances } from '../../api/resources.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import type { Claim } from '../disruption-budget/claim.ts';
import { callSubresource } from './call-subresource.ts';
import { refuseChanged } from './refuse-changed.ts';

/** Run strategies under which KubeVirt starts a VM again by itself when its VMI is deleted. */
const COMES_BACK = new Set(['Always', 'Once']);

/**
 * Restarts this VMI of the VM and no other; does not ask again for a restart that was already asked for. Returns what a
 * cache must have reached to show that, if the API server tells it. Throws a conflict if the VMI was not ready and has
 * changed since: a VM without service needs no claim on a budget, and may have come up; or if the VM has left its
 * owner. `claim`: the VM's claim on the budget.
 */
export async function restartVm(client: KubeClient, vm: VmView, vmi: VmiView, claim: Claim): Promise<ResourceVersions> {
  const { lastCheck } = claim;
  const { namespace, name } = vm;
  // KubeVirt stops a halted VM by itself.
  if (vm.runStrategy === 'Halted') return { vms: vm.resourceVersion };
  await refuseChanged(client, vm, claim);
  if (COMES_BACK.has(vm.runStrategy)) {
    const at = { namespace, name };
    const { uid, resourceVersion, ready } = vmi;
    const deleted = ready
      ? await ignoreStale(client.delete(VirtualMachineInstances, at, { uid, lastCheck }))
      : await ignoreNotFound(client.delete(VirtualMachineInstances, at, { uid, resourceVersion, lastCheck }));
    return { vmis: deleted?.metadata?.resourceVersion };
  }
  if (vm.changingState) return { vms: vm.resourceVersion };
  return callSubresource(client, vm, 'restart', lastCheck);
}
