import { VirtualMachines } from '../../api/resources.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, KubeError } from '../../kubernetes/errors.ts';
import type { Clocks } from '../../kubernetes/lib/clocks.ts';
import { whileFresh, type LastCheck } from '../../kubernetes/retry.ts';
import type { Claim } from '../disruption-budget/claim.ts';
import { refuseChanged } from './refuse-changed.ts';

/**
 * Asks KubeVirt to start, stop or restart the VM, as `virtctl` does: KubeVirt decides what that means for its run
 * strategy. Takes no precondition, so callers read the VM right before. Returns what a cache must have reached to show
 * that.
 */
export async function callSubresource(
  client: KubeClient,
  { namespace, name }: VmView,
  verb: 'start' | 'stop' | 'restart',
  lastCheck: LastCheck,
): Promise<ResourceVersions> {
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/virtualmachines/${encodeURIComponent(name)}/${verb}`;
  try {
    await client.request({ method: 'PUT', path, body: {}, lastCheck });
  } catch (error) {
    // KubeVirt's answer to a second request while the first is in progress.
    if (!(error instanceof KubeError && error.status === 500 && error.message.includes('already underway')))
      throw error;
  }
  const vm = await ignoreNotFound(client.get(VirtualMachines, { namespace, name }));
  return { vms: vm?.metadata.resourceVersion };
}

/**
 * Starts the VM, unless it has left its owner or opted out since it was looked at. `written`: when that write of it was
 * sent.
 */
export const startVm = (client: KubeClient, vm: VmView, written: Clocks): Promise<ResourceVersions> =>
  startOrStop(client, vm, 'start', written, null);

/** Stops the VM, unless that has happened, or it has come under another disruption budget. */
export const stopVm = (client: KubeClient, vm: VmView, written: Clocks, claim: Claim): Promise<ResourceVersions> =>
  startOrStop(client, vm, 'stop', written, claim);

function startOrStop(
  client: KubeClient,
  vm: VmView,
  verb: 'start' | 'stop',
  written: Clocks,
  claim: Claim | null,
): Promise<ResourceVersions> {
  const act = async (lastCheck: LastCheck, isKnown: boolean): Promise<ResourceVersions> => {
    if (!isKnown) await refuseChanged(client, vm, claim);
    return callSubresource(client, vm, verb, lastCheck);
  };
  return whileFresh(act, claim?.lastCheck, written);
}
