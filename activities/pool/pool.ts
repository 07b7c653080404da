import { cancellationSignal, log } from '@temporalio/activity';
import { POOL_FINALIZER } from '../../api/names.ts';
import { controllerOf } from '../../api/objects.ts';
import type { PoolStatus } from '../../api/pool/pool.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { toldOnce } from '../../decisions/healing/conditions.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { later, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { containedPlan } from '../../decisions/pool/contained-plan.ts';
import { revisionOf } from '../../decisions/revisions/hash.ts';
import { whyNotMake } from '../../decisions/scaling/departure.ts';
import { vmName } from '../../decisions/scaling/vm-names.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import { vmFromTemplate } from '../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists, isRefusalOfOne, isTransient, KubeError, ignoreStale } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { snapshotOf } from '../cache/snapshot.ts';
import { ensureDisksAreFree } from '../disks/free.ts';
import { createDiskActivities } from '../disks/steps.ts';
import type { Places } from '../disruption-budget/places.ts';
import { recordEvent } from '../lib/events.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { liveVm } from '../lib/live-vm.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { serverLost } from '../lib/shutdown.ts';
import { slowStart } from '../lib/slow-start.ts';
import type { Revisions } from '../rollout/revisions.ts';
import { knownPool, livePool } from './live-pool.ts';
import { createRemovalActivities } from './remove-vms.ts';
import { writePoolStatus, type WrittenStatus } from './status.ts';
import type { PoolKey, PlanRequest, Planned, Done, HowToCreate } from './types.ts';

/** Calls that may hit a quota which has just filled up. */
const INITIAL_CONCURRENCY = 16;
/** This many refusals in a row, of one VM each, count as a refusal of all. */
const REFUSALS = 3;

export interface PoolActivityOptions {
  client: KubeClient;
  cache: ClusterCache;
  places: Places;
  revisions: Revisions;
  /** Maximum number of VMs of a pool in flight, creations and deletions each. */
  burst: number;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
  /** Called when a decision about this pool has thrown. */
  onPlanFailed?: (pool: { namespace: string; name: string }) => void;
}

export function createPoolActivities({
  client,
  cache,
  places,
  revisions,
  burst,
  concurrency,
  onPlanFailed,
}: PoolActivityOptions) {
  const poolOf = (key: PoolKey): Promise<StoredPool | undefined> => knownPool(client, cache, key);

  /**
   * Runs `act` on each item, and returns refusals in words. A refusal that may concern one item alone lets the others
   * go on; several of that kind in a row end the run, and so does a refusal that concerns all.
   */
  const each = async <T extends { name: string }>(
    items: readonly T[],
    act: (item: T) => Promise<void>,
    atFirst = 1,
  ): Promise<Pick<Done, 'count' | 'refused'>> => {
    let count = 0;
    let inARow = 0;
    let first: KubeError | null = null;
    const names: string[] = [];
    const counted = async (item: T): Promise<void> => {
      try {
        await act(item);
        count++;
        inARow = 0;
      } catch (error) {
        if (!isRefusalOfOne(error)) throw error;
        first ??= error;
        names.push(item.name);
        if (++inARow >= REFUSALS) throw error;
      }
    };
    const refusedBy = ({ reason, message }: KubeError, isGeneral: boolean): Done['refused'] => ({
      reason,
      message,
      names,
      isGeneral,
    });
    try {
      await slowStart(items, counted, { most: concurrency, atFirst, signal: cancellationSignal() });
      return { count, refused: first === null ? null : refusedBy(first, false) };
    } catch (error) {
      if (!(error instanceof KubeError) || isTransient(error)) throw error;
      return { count, refused: refusedBy(error, true) };
    }
  };

  return {
    /**
     * Returns the next steps of a pool, planned on a snapshot that is not older than `seen`. A local activity: it
     * writes nothing.
     */
    async plan({ namespace, name, seen, resultUnknown, allowance, ...asked }: PlanRequest): Promise<Planned> {
      if (cache.lost.aborted) throw serverLost();
      if (resultUnknown) await cache.vms.relist();
      const reached = await cache.catchUp(seen);
      const pool = await knownPool(client, cache, { namespace, name });
      if (pool === undefined) return { gone: true };
      const { uid, generation = 0 } = pool.metadata;
      const { plan, error } = containedPlan({
        ...snapshotOf(cache, pool),
        ...asked,
        burst,
        allowance: allowance ?? burst,
      });
      if (error !== null) {
        onPlanFailed?.({ namespace, name });
        log.error('no plan could be made for a pool: its condition Stalled says so', {
          pool: `${namespace}/${name}`,
          error: error.stack ?? error.message,
        });
      }
      return {
        gone: false,
        key: { namespace, name, uid },
        generation,
        seen: reached,
        ...plan,
        status: toldOnce(plan.status),
      };
    },

    /**
     * Creates the pool's VMs with these numbers from the template of `revision`. A VM that already exists and is the
     * pool's counts as done. Starts slowly, so that only one call hits a full quota, unless the pool's last creations
     * went well (`atBreadth`). VMs with numbers in `halted` are created halted, whatever the template says. Each VM is
     * created only while the pool still wants it.
     */
    createVms: (
      key: PoolKey,
      numbers: number[],
      revision: string,
      seen: ResourceVersions,
      { generation, skipSlowStart = false, halted = [] }: HowToCreate,
    ): Promise<Done> =>
      withHeartbeat(async () => {
        await cache.catchUp({ pools: seen.pools });
        const notMade = { ...nothingDone, notWanted: numbers.map((number) => vmName(key.name, number)) };
        const pool = await poolOf(key);
        if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return notMade;
        // Kept before the first VM is created from it, so that a later update knows what that VM was created from.
        if (revisionOf(poolTemplate(pool.spec)) === revision && !(await revisions.keep(pool))) return notMade;
        const template = await revisions.find(key, revision);
        if (template === undefined) return notMade;
        const created: string[] = [];
        const taken: string[] = [];
        const notWanted: string[] = [];
        const made = new Set<string>();
        let version: string | undefined;
        let poolVersion: string | undefined;
        const poolNow = sharedCall(() => livePool(client, key, cancellationSignal()));
        const items = numbers.map((number) => ({ number, name: vmName(key.name, number) }));
        const { count, refused } = await each(
          items,
          async ({ number, name }) => {
            const vm = vmFromTemplate(pool, template, number);
            const now = await poolNow();
            poolVersion = later(poolVersion, now?.metadata.resourceVersion);
            const vms = generation === undefined ? cache.ownedBy(key.uid) : [];
            if (whyNotMake({ generation, pool: now, vms, name, made }) !== null) return void notWanted.push(name);
            made.add(name);
            await ensureDisksAreFree(client, cache, pool, vm, number).catch((error: unknown) => {
              made.delete(name);
              throw error;
            });
            if (halted.includes(number)) vm.spec = { ...vm.spec, running: undefined, runStrategy: 'Halted' };
            try {
              const stored = await client.create(VirtualMachines, vm, { signal: cancellationSignal() });
              version = later(version, stored.metadata.resourceVersion);
              created.push(vm.metadata.name);
            } catch (error) {
              made.delete(name);
              if (!isAlreadyExists(error)) throw error;
              const other = await liveVm(client, vm.metadata);
              version = later(version, other?.metadata.resourceVersion);
              if (other !== undefined && controllerOf(other)?.uid !== key.uid) taken.push(vm.metadata.name);
            }
          },
          skipSlowStart ? INITIAL_CONCURRENCY : 1,
        );
        const note = `Created ${formatNames(created)}`;
        if (created.length > 0)
          await recordEvent(client, pool, { type: 'Normal', reason: 'SuccessfulCreate', action: 'ScaleOut', note });
        if (refused !== null) {
          const why = `${numbers.length - count} of ${formatNames(numbers.map((number) => vmName(key.name, number)))} not created: ${refused.message}`;
          await recordEvent(client, pool, { type: 'Warning', reason: 'FailedCreate', action: 'ScaleOut', note: why });
        }
        if (taken.length > 0) log.info("names are held by VMs that are not the pool's, and are skipped", { taken });
        if (notWanted.length > 0) log.info('VMs are not wanted any more, and are not made', { notWanted });
        return {
          count: count - notWanted.length,
          taken,
          notWanted,
          refused,
          seen: { pools: poolVersion, vms: version },
        };
      }),

    ...createDiskActivities({ client, poolOf, each }),
    ...createRemovalActivities({ client, cache, places, concurrency, poolOf, each }),

    /** Adds drover's finalizer to the pool, or removes it: with it, the pool can't be deleted before its VMs. */
    async setFinalizer(key: PoolKey, held: boolean): Promise<ResourceVersions> {
      for (;;) {
        const pool = await livePool(client, key);
        if (pool === undefined) return {};
        const { resourceVersion, finalizers: current = [], deletionTimestamp } = pool.metadata;
        if (current.includes(POOL_FINALIZER) === held || (held && deletionTimestamp !== undefined))
          return { pools: resourceVersion };
        const finalizers = held
          ? [...current, POOL_FINALIZER]
          : current.filter((finalizer) => finalizer !== POOL_FINALIZER);
        const patch = { metadata: { resourceVersion, finalizers } };
        const patched = await ignoreStale(
          client.patch(VirtualMachinePools, key, 'merge', patch, { signal: cancellationSignal() }),
        );
        if (patched !== undefined) return { pools: patched.metadata.resourceVersion };
      }
    },

    /** Keeps the pool's template, in case it changes. */
    async keepRevision(key: PoolKey): Promise<void> {
      const pool = await poolOf(key);
      if (pool !== undefined) await revisions.keep(pool);
    },

    /** Deletes ControllerRevisions of the pool that nothing uses. */
    async pruneRevisions(key: PoolKey, names: string[]): Promise<void> {
      await revisions.prune(key, names);
    },

    writeStatus: (key: PoolKey, status: PoolStatus): Promise<WrittenStatus> =>
      withHeartbeat(() => writePoolStatus(client, cache, key, status)),
  };
}

export type PoolActivities = ReturnType<typeof createPoolActivities>;

const nothingDone: Done = { count: 0, taken: [], notWanted: [], refused: null, seen: {} };
