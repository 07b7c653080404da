import { cancellationSignal, log } from '@temporalio/activity';
import { ORPHAN_FINALIZER, REMOVING_ANNOTATION } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { later, maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { Target } from '../../decisions/pool/steps.ts';
import { whyStay, type Departure } from '../../decisions/scaling/departure.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { DeleteOptions, KubeClient } from '../../kubernetes/client.ts';
import { isRefusal, ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { untilGone } from '../cache/wait-for-deletion.ts';
import { waitForTermination } from '../cache/wait-for-termination.ts';
import { deleteKeepingDisks } from '../disks/leave.ts';
import { placeFor } from '../disruption-budget/place-for.ts';
import type { Places } from '../disruption-budget/places.ts';
import { recordEvent } from '../lib/events.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { liveVm } from '../lib/live-vm.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { whileOurs, type Acted, type OwnedVm, type WhileOursOptions } from '../lib/while-ours.ts';
import { livePool } from './live-pool.ts';
import type { Done, PoolKey } from './types.ts';

export interface RemovalOptions {
  client: KubeClient;
  cache: ClusterCache;
  places: Places;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
  poolOf: (key: PoolKey) => Promise<StoredPool | undefined>;
  /** Runs `act` on each VM; returns a refusal in words instead of throwing it. */
  each: (
    vms: readonly Target[],
    act: (vm: Target) => Promise<void>,
    atFirst?: number,
  ) => Promise<Pick<Done, 'count' | 'refused'>>;
}

/** What has become of VMs that were to be replaced. */
export interface Removed {
  /** VMs that stay because the API server refuses to delete them, and why. */
  refused: { name: string; why: string }[];
  /** VMs that stay for now because the pool's disruption budget is full; absent in older histories. */
  deferred?: { name: string; why: string }[];
  seen: ResourceVersions;
}

/**
 * Creates the activities by which VMs leave a pool: deleted with or without their disks, halted before that, replaced,
 * or released.
 */
export function createRemovalActivities({ client, cache, places, concurrency, poolOf, each }: RemovalOptions) {
  return {
    /**
     * Deletes these VMs and no others of their names, each only if it is still to leave; resolves when the cache shows
     * all of them as terminating or deleted.
     */
    deleteVms: (
      key: PoolKey,
      vms: Target[],
      keepDisks: boolean,
      departure: Departure,
      planned: ResourceVersions = {},
    ): Promise<Done> =>
      withHeartbeat(async () => {
        const going: Target[] = [];
        const spared: string[] = [];
        let version: string | undefined;
        const asked = askEach(key, vms, departure, planned);
        const { count, refused } = await each(
          vms,
          async (target) => {
            // A VM whose disks are kept is deleted only as it was planned: someone may have started it meanwhile.
            const done = keepDisks
              ? await deleteKeepingDisks(client, key, target, Date.now(), asked.isToLeave)
              : await deleteVm(key, target, { propagationPolicy: 'Background', isWanted: asked.isToLeave });
            if (done === 'done') going.push(target);
            else if (done === 'spared') spared.push(target.name);
            else version = later(version, done.left);
          },
          concurrency,
        );
        await Promise.all([
          reportRemoval(key, 'Delete', vms, going, refused),
          waitForTermination(cache, key.namespace, going),
        ]);
        const seen = maxVersions({ pools: asked.version(), vms: version }, cache.versionsOf('vms'));
        return { ...nothingDone, count: count - spared.length, notWanted: spared, refused, seen };
      }),

    /**
     * Halts VMs that leave the pool, each only if it is still to leave, and marks them, so that they are deleted once
     * their VMIs have stopped.
     */
    haltVms: (key: PoolKey, vms: Target[], departure: Departure, planned: ResourceVersions = {}): Promise<Done> =>
      withHeartbeat(async () => {
        let version: string | undefined;
        const stopping: Target[] = [];
        const spared: string[] = [];
        const asked = askEach(key, vms, departure, planned);
        const { count, refused } = await each(vms, async (target) => {
          const halt = async (resourceVersion: string): Promise<void> => {
            const patch = {
              metadata: { resourceVersion, annotations: { [REMOVING_ANNOTATION]: 'true' } },
              spec: { running: null, runStrategy: 'Halted' },
            };
            const options = { signal: cancellationSignal() };
            const halted = await ignoreNotFound(
              client.patch(VirtualMachines, { namespace: key.namespace, name: target.name }, 'merge', patch, options),
            );
            version = later(version, halted?.metadata.resourceVersion);
          };
          // Whoever has removed the mark from a VM wants to keep it.
          const isSame = departure.because === 'marked' ? isMarked : undefined;
          const done = await whileOurs(client, key, target, halt, {
            isWanted: asked.isToLeave,
            ...(isSame === undefined ? {} : { isSame }),
          });
          if (done === 'done') stopping.push(target);
          else if (done === 'spared') spared.push(target.name);
          else version = later(version, done.left);
        });
        await reportRemoval(key, 'Halt', vms, stopping, refused);
        return {
          ...nothingDone,
          count: count - spared.length,
          notWanted: spared,
          refused,
          seen: { pools: asked.version(), vms: version },
        };
      }),

    /**
     * Removes the pool from these VMs' owner references, and leaves the VMs otherwise as they are. A VM that was
     * leaving loses its mark: a pool that adopts the VM later would delete it because of the mark.
     */
    releaseVms: (key: PoolKey, vms: Target[]): Promise<Done> =>
      withHeartbeat(async () => {
        let version: string | undefined;
        const poolNow = sharedCall(() => livePool(client, key, cancellationSignal()));
        const { count, refused } = await each(vms, async ({ name, uid }) => {
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
        });
        return { ...nothingDone, count, refused, seen: { vms: version } };
      }),

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
          const done = await deleteVm(key, vm, {
            propagationPolicy: 'Foreground',
            isWanted,
            isSame: (now) => !isMarked(now),
          }).catch((error: unknown) => {
            if (!isRefusal(error)) throw error;
            refused.push({ name: vm.name, why: error.message });
            return 'spared' as const;
          });
          // The cache may not show yet that a VM is deleted.
          if (done === 'done' || (done !== 'spared' && done.left === undefined)) going.push(vm);
        }
        await untilGone(cache, key.namespace, going, cancellationSignal());
        return { refused, deferred, seen: cache.versionsOf('vms') };
      }),
  };

  /**
   * Asks again for each VM whether it is still to leave, by the pool's state at that time. `planned`: what the plan had
   * seen.
   */
  function askEach(
    key: PoolKey,
    vms: readonly Target[],
    departure: Departure,
    planned: ResourceVersions,
  ): { isToLeave: () => Promise<boolean>; version: () => string | undefined } {
    const leaving = new Set(vms.map((vm) => vm.name));
    let version: string | undefined;
    let hasCaughtUp = false;
    const isToLeave = sharedCall(async (): Promise<boolean> => {
      const pool = await livePool(client, key, cancellationSignal());
      version = later(version, pool?.metadata.resourceVersion);
      const why = (): string | null => whyStay({ departure, pool, vms: cache.ownedBy(key.uid), leaving });
      // This worker's cache may be older than the plan.
      if (why() !== null && !hasCaughtUp) {
        await cache.catchUp({ vms: planned.vms });
        hasCaughtUp = true;
      }
      const reason = why();
      if (reason !== null) log.info('VMs do not leave that were to', { pool: key.name, reason });
      return reason === null;
    });
    return { isToLeave, version: () => version };
  }

  /**
   * Returns why the VM has no place in the disruption budget, or null. A place was claimed when the VM was taken, and
   * is claimed again for the time it takes to act: others may have it by now.
   */
  async function whyNoPlace(key: PoolKey, { name, uid }: OwnedVm): Promise<string | null> {
    const vm = cache.vms.get(`${key.namespace}/${name}`);
    if (vm === undefined || vm.uid !== uid || vm.deleting) return null;
    const place = await placeFor(places, key, vm, cache.vmiOf(vm));
    return typeof place === 'string' ? place : null;
  }

  /** Deletes the VM; a VM that is already deleted counts as done. */
  function deleteVm(
    key: PoolKey,
    vm: OwnedVm,
    { propagationPolicy, ...how }: Deletion & WhileOursOptions,
  ): Promise<Acted> {
    const remove = async (resourceVersion: string): Promise<void> => {
      const options = { uid: vm.uid, resourceVersion, propagationPolicy, signal: cancellationSignal() };
      await ignoreNotFound(client.delete(VirtualMachines, { namespace: key.namespace, name: vm.name }, options));
    };
    return whileOurs(client, key, vm, remove, how);
  }

  /** `asked`: all VMs that were to be removed. */
  async function reportRemoval(
    key: PoolKey,
    verb: 'Delete' | 'Halt',
    asked: Target[],
    removed: Target[],
    refused: Done['refused'],
  ): Promise<void> {
    const pool = await poolOf(key);
    if (pool === undefined) return;
    const action = 'ScaleIn';
    if (refused !== null) {
      const note = `${asked.length - removed.length} of ${wordsOf(asked)} not done: ${refused.message}`;
      await recordEvent(client, pool, { type: 'Warning', reason: `Failed${verb}`, action, note });
    } else if (removed.length > 0) {
      const note = `${{ Delete: 'Deleted', Halt: 'Halted, to keep the disks of' }[verb]} ${wordsOf(removed)}`;
      await recordEvent(client, pool, { type: 'Normal', reason: `Successful${verb}`, action, note });
    }
  }
}

type Deletion = { propagationPolicy: NonNullable<DeleteOptions['propagationPolicy']> };

const nothingDone: Done = { count: 0, taken: [], notWanted: [], refused: null, seen: {} };

const isMarked = (vm: Stored): boolean => vm.metadata.annotations?.[REMOVING_ANNOTATION] !== undefined;

const wordsOf = (vms: readonly Target[]): string => formatNames(vms.map((vm) => vm.name));
