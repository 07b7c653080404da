import { VirtualMachineInstances } from '../../api/resources.ts';
import { pick } from '../../decisions/lib/json.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import type { Clocks } from '../../kubernetes/lib/clocks.ts';
import { whileFresh, type LastCheck } from '../../kubernetes/retry.ts';
import type { Claim } from '../disruption-budget/claim.ts';
import { callSubresource } from './call-subresource.ts';
import { refuseChanged } from './refuse-changed.ts';

/** Run strategies under which KubeVirt starts a VM again by itself when its VMI is deleted. */
const COMES_BACK = new Set(['Always', 'Once']);

interface RestartTarget {
  vm: VmView;
  vmi: VmiView;
  /** The VM's claim on the budget. */
  claim: Claim;
  /** Throws if the VM is no longer to be restarted; by default, if it has left its owner or opted out. */
  refuse?: () => Promise<void>;
  /** When the last write of the VM was sent, if nothing was waited for since: it has shown that the VM is unchanged. */
  written?: Clocks;
}

/**
 * Restarts this VMI of the VM and no other; does not ask again for a restart that was already asked for. Returns what a
 * cache must have reached to show that, if the API server tells it. Throws a conflict if the VMI was not ready and has
 * changed since: a VM without service needs no claim on a budget, and may have come up; or if the VM is no longer to be
 * restarted.
 */
export async function restartVm(
  client: KubeClient,
  { vm, vmi, claim, refuse = () => refuseChanged(client, vm, claim), written }: RestartTarget,
): Promise<ResourceVersions> {
  // KubeVirt stops a halted VM by itself.
  if (vm.runStrategy === 'Halted') return { vms: vm.resourceVersion };
  const act = async (lastCheck: LastCheck, isKnown: boolean): Promise<ResourceVersions> => {
    if (!isKnown) await refuse();
    return restart(client, vm, vmi, lastCheck);
  };
  return whileFresh(act, claim.lastCheck, written);
}

async function restart(client: KubeClient, vm: VmView, vmi: VmiView, lastCheck: LastCheck): Promise<ResourceVersions> {
  if (COMES_BACK.has(vm.runStrategy)) {
    const at = pick(vm, ['namespace', 'name']);
    const { uid, resourceVersion, ready } = vmi;
    const deleted = ready
      ? await ignoreStale(client.delete(VirtualMachineInstances, at, { uid, lastCheck }))
      : await ignoreNotFound(client.delete(VirtualMachineInstances, at, { uid, resourceVersion, lastCheck }));
    return { vmis: deleted?.metadata?.resourceVersion };
  }
  if (vm.changingState) return { vms: vm.resourceVersion };
  return callSubresource(client, vm, 'restart', lastCheck);
}
