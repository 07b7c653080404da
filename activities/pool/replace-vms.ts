import { cancellationSignal } from '@temporalio/activity';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isRefusal } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { waitForDeletion } from '../cache/wait-for-deletion.ts';
import { claimFor } from '../disruption-budget/place-for.ts';
import type { DisruptionClaims } from '../disruption-budget/places.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { deleteVm } from '../owners/delete-member.ts';
import type { OwnedVm } from '../owners/if-owned.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/types.ts';

export interface ReplacementOptions {
  client: KubeClient;
  cache: ClusterCache;
  places: DisruptionClaims;
}

/** What has become of VMs that were to be replaced. */
export interface Removed {
  /** VMs that stay because the API server refuses to delete them, and why. */
  refused: { name: string; why: string }[];
  /** VMs that stay for now because the pool's disruption budget is full; absent in older histories. */
  deferred?: { name: string; why: string }[];
  minVersions: ResourceVersions;
}

/** Creates the activity that deletes VMs whose places others take. */
export function createReplacementActivities({ client, cache, places }: ReplacementOptions) {
  return {
    /**
     * Deletes these VMs with their disks, and resolves only when both are deleted: otherwise the next VM with the
     * number would take up the old disks. Owners are deleted after what they own, so the VM's deletion implies that of
     * its disks. Skips VMs that are by now leaving the pool with their disks kept, and all VMs if the pool is deleted
     * or terminating. A VM whose deletion is refused for good (by a policy, or its owner's protection) does not hold up
     * the others, nor does a VM that the disruption budget no longer allows.
     */
    removeVms: (key: PoolKey, vms: { name: string; uid: string }[]): Promise<Removed> =>
      withHeartbeat(async () => {
        const going: typeof vms = [];
        const poolNow = sharedCall(() => livePool(client, key, cancellationSignal()));
        const isWanted = async (): Promise<boolean> => {
          const pool = await poolNow();
          return pool !== undefined && pool.metadata.deletionTimestamp === undefined;
        };
        const refused: Removed['refused'] = [];
        const deferred: NonNullable<Removed['deferred']> = [];
        const asked = await Promise.all(vms.map(async (vm) => ({ vm, why: await whyNoPlace(key, vm) })));
        for (const { vm, why } of asked) {
          if (why !== null) {
            deferred.push({ name: vm.name, why });
            continue;
          }
          const done = await deleteVm(client, key, vm, {
            propagationPolicy: 'Foreground',
            isWanted,
            isSame: ({ vm: now }) => now?.removing === false,
          }).catch((error: unknown) => {
            if (!isRefusal(error)) throw error;
            refused.push({ name: vm.name, why: error.message });
            return 'notWanted' as const;
          });
          // The cache may not show yet that a VM is deleted.
          if (done === 'done' || (done !== 'notWanted' && done.left === undefined)) going.push(vm);
        }
        await waitForDeletion(cache, key.namespace, going, cancellationSignal());
        return { refused, deferred, minVersions: cache.versionsOf('vms') };
      }),
  };

  /**
   * Returns why the VM has no place in the disruption budget, or null. A place was claimed when the VM was taken, and
   * is claimed again for the time it takes to act: others may have it by now.
   */
  async function whyNoPlace(key: PoolKey, { name, uid }: OwnedVm): Promise<string | null> {
    const vm = cache.vms.get(`${key.namespace}/${name}`);
    if (vm === undefined || vm.uid !== uid || vm.deleting) return null;
    const place = await claimFor(places, key, vm, cache.vmiOf(vm));
    return typeof place === 'string' ? place : null;
  }
}
