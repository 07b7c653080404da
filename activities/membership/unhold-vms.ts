import { cancellationSignal } from '@temporalio/activity';
import { controllerOf } from '../../api/objects.ts';
import type { Target } from '../../decisions/pool/steps.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { deleteKeepingDisks } from '../disks/leave.ts';
import { liveVm } from '../lib/live-vm.ts';
import { tryEach } from '../lib/try-each.ts';
import type { PoolKey } from '../owners/types.ts';

/**
 * Keeps the disks of VMs that are being deleted and that nobody controls any more, as the pool would have, and takes
 * drover's finalizer off them.
 */
export async function removeDiskFinalizers(
  client: KubeClient,
  key: PoolKey,
  vms: readonly Target[],
  concurrency: number,
): Promise<void> {
  const unhold = async ({ name, uid }: Target): Promise<void> => {
    const vm = await liveVm(client, { namespace: key.namespace, name }, cancellationSignal());
    if (vm?.metadata.deletionTimestamp === undefined || controllerOf(vm) !== undefined) return;
    // No deletion is begun here, only one that has begun is brought to its end.
    await deleteKeepingDisks(client, key, { name, uid }, Date.now(), async () => false);
  };
  const { refused } = await tryEach(vms, unhold, { most: concurrency });
  if (refused !== null) throw new Error(refused.message);
}
