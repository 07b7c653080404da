import { cancellationSignal } from '@temporalio/activity';
import { ORPHAN_FINALIZER, REMOVING_ANNOTATION } from '../../api/names.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { later } from '../../decisions/lib/resource-versions.ts';
import type { Target } from '../../decisions/pool/steps.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { liveVm } from '../lib/live-vm.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { isMarked } from './delete-vm.ts';
import { livePool } from './live-pool.ts';
import { tryEach } from './try-each.ts';
import { nothingDone, type Done, type PoolKey } from './types.ts';

export interface ReleaseOptions {
  client: KubeClient;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
}

/** Creates the activity by which a pool lets go of its VMs. */
export function createReleaseActivities({ client, concurrency }: ReleaseOptions) {
  return {
    /**
     * Removes the pool from these VMs' owner references, and leaves the VMs otherwise as they are. A VM that was
     * leaving loses its mark: a pool that adopts the VM later would delete it because of the mark.
     */
    releaseVms: (key: PoolKey, vms: Target[]): Promise<Done> =>
      withHeartbeat(async () => {
        let version: string | undefined;
        const poolNow = sharedCall(() => livePool(client, key, cancellationSignal()));
        const release = async ({ name, uid }: Target): Promise<void> => {
          if ((await poolNow())?.metadata.finalizers?.includes(ORPHAN_FINALIZER) !== true) return;
          const vm = await liveVm(client, { namespace: key.namespace, name });
          const owners = vm?.metadata.ownerReferences ?? [];
          const ownerReferences = owners.filter((owner) => owner.uid !== key.uid);
          const isReleased = ownerReferences.length === owners.length;
          if (vm === undefined || vm.metadata.uid !== uid || (isReleased && !isMarked(vm))) return;
          const annotations = { [REMOVING_ANNOTATION]: null };
          const patch = { metadata: { resourceVersion: vm.metadata.resourceVersion, annotations, ownerReferences } };
          const released = await ignoreStale(
            client.patch(VirtualMachines, { namespace: key.namespace, name }, 'merge', patch),
          );
          version = later(version, released?.metadata.resourceVersion);
        };
        const { count, refused } = await tryEach(vms, release, { most: concurrency });
        return { ...nothingDone, count, refused, seen: { vms: version } };
      }),
  };
}
