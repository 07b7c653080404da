import { POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { controllerOf } from '../../api/objects.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { finishKeepingDisks, hasDisksFinalizer } from '../disks/keep-disks.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { outcomeOf, tryEach, type Acted } from '../owners/try-each.ts';

/**
 * Keeps the disks of VMs that are being deleted and that no longer have a controller, as the pool would have, and takes
 * drover's finalizer off them.
 */
export async function removeDiskFinalizers(
  client: KubeClient,
  key: PoolKey,
  vms: readonly Target[],
  concurrency: number,
): Promise<Acted> {
  const unhold = async ({ name, uid }: Target): Promise<Acted> => {
    const vm = await liveVm(client, { namespace: key.namespace, name });
    // This starts no deletion, and only completes a deletion that has begun.
    if (vm?.metadata.deletionTimestamp === undefined || vm.metadata.uid !== uid || !hasDisksFinalizer(vm))
      return 'skipped';
    if (controllerOf(vm) !== undefined || vmView(vm).labels[POOL_LABEL] !== key.name) return 'skipped';
    if ((await livePool(client, key)) === undefined) return 'skipped';
    await finishKeepingDisks(client, key, vm, Date.now());
    return 'done';
  };
  return outcomeOf(await tryEach(vms, unhold, { most: concurrency }));
}
