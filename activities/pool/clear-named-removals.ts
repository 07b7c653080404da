import { REMOVE_VMS_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { slowStart } from '../lib/slow-start.ts';
import { forgetNamed } from '../membership/forget-named.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';

/**
 * Takes VMs off the list of VMs that users want removed, each only if the API server, too, says that the pool no longer
 * has it: a cache that is behind may not know a VM yet. Returns the versions that a later plan must have seen.
 */
export async function clearNamedRemovals(
  client: KubeClient,
  key: PoolKey,
  vms: readonly Member[],
  concurrency: number,
): Promise<ResourceVersions> {
  const { namespace } = key;
  let minVersions: ResourceVersions = {};
  const gone: Member[] = [];
  const look = async (named: Member): Promise<void> => {
    const vm = await liveVm(client, { namespace, name: named.name });
    minVersions = maxVersions(minVersions, { vms: vm?.metadata.resourceVersion });
    if (vm === undefined || vm.metadata.uid !== named.uid || !isControlledBy(vm, VirtualMachinePools, key))
      gone.push(named);
  };
  await slowStart(vms, look, { most: concurrency, atFirst: concurrency });
  return maxVersions(minVersions, await forgetNamed(client, key, REMOVE_VMS_ANNOTATION, gone));
}
