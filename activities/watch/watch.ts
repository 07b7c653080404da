import { Context } from '@temporalio/activity';
import { OWNER_KINDS, type VmOwnerKind } from '../../api/owner-kinds.ts';
import { operationOfKey } from '../../decisions/operations/ref.ts';
import { containedPlan } from '../../decisions/pool/contained-plan.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import { containedVmiSetPlan, containedReplicaSetPlan } from '../../decisions/replica-sets/contained-plan.ts';
import type { ReplicaSetPlan } from '../../decisions/replica-sets/plan.ts';
import { isInPortion, UNDIVIDED, type Portion } from '../../decisions/shards/portion.ts';
import type { StoredVmiSet, StoredReplicaSet, StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';
import { vmiSetSnapshot, setSnapshot, snapshotOf } from '../cache/snapshot.ts';
import { rejectOn, serverLost, workerShutdown } from '../lib/shutdown.ts';
import { ownerName } from '../owners/owner-key.ts';
import { affectedPools } from './affected-pools.ts';
import { affectedSets } from './affected-sets.ts';
import { DebouncedSignals, MS_A_KEY, notifyInterval } from './debounced-signals.ts';
import { eachInTurn } from './each-in-turn.ts';
import { lookForLostChildren, type ChildSignals } from './lost-children.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { leastPlanIntervalMs } from './plan-interval.ts';
import { restartNotices } from './restart-notices.ts';
import { watchedOperations, watchedSchedules } from './watched-operations.ts';
import type { Signals, Watched, WatchedObjects } from './watched.ts';

export interface WatchActivityOptions {
  client: KubeClient;
  cache: ClusterCache;
  burst: number;
  /** Brings the statuses of disruption budgets up to date, of those in the namespaces for which that is said. */
  refreshBudgets: (isWatched: IsWatched) => Promise<void>;
  signalsOf: (what: Watched['what'], portion: Portion) => Signals;
  childSignals: ChildSignals;
  /** Called for each signal that could not be sent. */
  onFailure?: () => void;
  /** Called for each signal that Temporal has accepted; `seconds`: since the change that it reports, if seen. */
  onSignalled?: (signal: { kind: Watched['what']; key: string; seconds: number | undefined }) => void;
  /** Called when this worker begins to watch a portion of the cluster, and when it no longer does. */
  onWatching?: ((isWatching: boolean, portion: Portion) => void) | undefined;
  /** Aborted when the worker is asked to shut down: its watch then moves to another worker at once. */
  stopping: AbortSignal;
  resyncMs?: number;
  /** How often the owners without a workflow are looked for. */
  managedMs?: number;
}

/** Whether a namespace, or without one what is in none, is watched. */
type IsWatched = (namespace: string | undefined) => boolean;

const HEARTBEAT_MS = 2_000;
/** How often the statuses of disruption budgets are compared with what they should be. */
const BUDGETS_MS = 1_000;
const RESYNC_MS = 300_000;
/** How long the workflow of an owner may have ended before another is started. */
const MANAGED_MS = 15_000;

export function createWatchActivities(options: WatchActivityOptions) {
  const { client, cache, childSignals, onWatching, stopping } = options;
  const { resyncMs = RESYNC_MS, managedMs = MANAGED_MS } = options;

  return {
    /**
     * Watches a portion of the cluster, by default all of it, until its worker shuts down or loses the API server, or
     * Temporal cancels it. Signals every pool and replica set once at the start, then each one to which something has
     * happened; every few minutes all that have something to do, since a signal may be lost; and every few seconds all
     * without a workflow, and pools with a batch that was ended, since users and Temporal may end any workflow.
     */
    async watchCluster({ cluster, portion = UNDIVIDED }: { cluster: string; portion?: Portion }): Promise<void> {
      // Kept here: cache callbacks run outside any activity, without a current context.
      const context = Context.current();
      const { log, info } = context;
      const ended = new AbortController();
      const isWatched: IsWatched = (namespace) => isInPortion(portion, namespace);
      const followers = watchedKinds(options, isWatched).map((one) =>
        follow(one, { cluster, portion }, context, options),
      );
      const unsubscribe = cache.subscribe((change) => {
        for (const { hear } of followers) hear(change);
      });
      for (const { start } of followers) void start();
      const beat = setInterval(() => {
        context.heartbeat();
        for (const { tryAgain } of followers) tryAgain();
      }, HEARTBEAT_MS);
      const resync = setInterval(() => {
        for (const { resync } of followers) resync();
      }, resyncMs);
      const findLost = oneAtATime(lookForLostChildren(context.client, cluster, childSignals, isWatched), (error) =>
        log.warn('batches and attempts that were ended could not be listed', { error: error.message }),
      );
      const noteRestarts = oneAtATime(restartNotices(client, cache, ended.signal, isWatched), () => {});
      const look = setInterval(() => {
        for (const { findUnmanaged } of followers) findUnmanaged();
        void findLost();
        void noteRestarts();
      }, managedMs);
      const refreshBudgets = oneAtATime(
        () => options.refreshBudgets(isWatched),
        (error) => log.warn('the status of a disruption budget could not be written', { error: error.message }),
      );
      const count = setInterval(() => void refreshBudgets(), BUDGETS_MS);
      const { pools, replicaSets, vmiSets, vms } = cache;
      const sizes = { pools: pools.size, sets: replicaSets.size + vmiSets.size, vms: vms.size };
      onWatching?.(true, portion);
      log.info('watching', { cluster, ...shardIn(portion), ...sizes, attempt: info.attempt });
      try {
        await Promise.race([context.cancelled, rejectOn(stopping, workerShutdown), rejectOn(cache.lost, serverLost)]);
      } finally {
        onWatching?.(false, portion);
        ended.abort();
        clearInterval(beat);
        clearInterval(resync);
        clearInterval(look);
        clearInterval(count);
        unsubscribe();
        for (const { stop } of followers) stop();
      }
    },
  };
}

export type WatchActivities = ReturnType<typeof createWatchActivities>;

/** Returns what is watched, by the kind of owner. */
function watchedKinds({ cache, burst }: WatchActivityOptions, isWatched: IsWatched): Watched[] {
  const idle = { inProgress: { creating: [], deleting: [] }, backoffs: {}, burst };
  const ofSet = { ...idle, uncertain: [] };
  const ofPool = { ...idle, batches: [], batchesNotBefore: 0 };

  /** Reports whether the workflow of an owner would have nothing to do now. */
  const isSettled = (kind: VmOwnerKind, owner: StoredVmOwner): boolean => {
    const now = Date.now();
    if (kind === 'VirtualMachinePool') {
      const { plan } = containedPlan({ ...snapshotOf(cache, owner as StoredPool), ...ofPool, now });
      // The status says nothing of attempts that run, so that a pool with one counts as unsettled.
      return isEmpty(plan) && plan.healing.begin.length === 0;
    }
    const { plan } =
      kind === 'VirtualMachineReplicaSet'
        ? containedReplicaSetPlan({ ...setSnapshot(cache, owner as StoredReplicaSet), ...ofSet, now })
        : containedVmiSetPlan({ ...vmiSetSnapshot(cache, owner as StoredVmiSet), ...ofSet, starts: null, now });
    return isEmpty(plan);
  };

  const watched = (kind: VmOwnerKind): WatchedObjects => {
    const { noun, members, cache: owners } = OWNER_KINDS[kind];
    return {
      what: noun,
      all: () => [...cache[owners].values()].map(ownerName),
      exists: (key) => cache[owners].get(key) !== undefined,
      affected: (change) =>
        kind === 'VirtualMachinePool' ? affectedPools(change, cache) : affectedSets(kind, change, cache),
      leastMs: (key) => leastPlanIntervalMs(cache[owners].get(key)),
      isUnsettled: (key) => {
        const owner: StoredVmOwner | undefined = cache[owners].get(key);
        return owner !== undefined && !isSettled(kind, owner);
      },
      // The worker that plans may be behind in any of these.
      versions: (key) =>
        cache.versionsIn(key.slice(0, key.indexOf('/')), owners, members.cache, 'vmis', 'migrations', 'nodes'),
    };
  };
  const owners = (Object.keys(OWNER_KINDS) as VmOwnerKind[]).map(watched);
  const all = [...owners, watchedOperations(cache), watchedSchedules(cache)];
  return all.map((watched) => besidesOthers(watched, cache, isWatched));
}

/**
 * Leaves out what is in another portion of the cluster, and what is in namespaces that have their own workers: its
 * workflows are told that it is gone.
 */
function besidesOthers(
  watched: WatchedObjects,
  cache: Pick<ClusterCache, 'isDelegated'>,
  isWatched: IsWatched,
): Watched {
  const isIn = (key: string): boolean => isWatched(operationOfKey(key).namespace);
  const isServed = (key: string): boolean => isIn(key) && !cache.isDelegated(key.slice(0, key.indexOf('/')));
  return {
    ...watched,
    all: () => watched.all().filter(isServed),
    exists: (key) => isServed(key) && watched.exists(key),
    affected: (change) => {
      if (change.kind === 'namespace') return [];
      const isOfVm = change.kind === 'vm' || change.kind === 'vmi';
      if (isOfVm && !isWatched((change.after ?? change.before)!.namespace)) return [];
      return change.kind === 'claim'
        ? watched.all().filter((key) => key.startsWith(`${change.namespace}/`) && isIn(key))
        : watched.affected(change).filter(isServed);
    },
    isUnsettled: (key) => isServed(key) && watched.isUnsettled(key),
  };
}

const isEmpty = ({ steps, status }: Pick<ReplicaSetPlan | PoolPlan, 'steps' | 'status'>): boolean =>
  steps.length === 0 && status === null;

const shardIn = ({ shard }: Portion): { shard?: number } => (shard === undefined ? {} : { shard });

interface Follower {
  start: () => Promise<void>;
  hear: (change: CacheChange) => void;
  tryAgain: () => void;
  resync: () => void;
  findUnmanaged: () => void;
  stop: () => void;
}

/** Signals the workflows of one kind of owner. */
function follow(
  { what, all, exists, affected, leastMs, isUnsettled, versions }: Watched,
  { cluster, portion }: { cluster: string; portion: Portion },
  { client, log }: Context,
  { signalsOf, onFailure, onSignalled }: Pick<WatchActivityOptions, 'signalsOf' | 'onFailure' | 'onSignalled'>,
): Follower {
  const signals = signalsOf(what, portion);
  const { shards } = portion;
  /** Those whose workflow, if it runs, is on another task queue. */
  const elsewhere = new Set<string>();
  const failed = new Set<string>();
  /** When changes were seen that no signal has reported yet. */
  const seen = new Map<string, number>();
  const ended = new AbortController();
  const notify = (key: string): Promise<void> => {
    const send = exists(key) ? signals.notify : signals.signalDeleted;
    const since = seen.get(key);
    seen.delete(key);
    const look = { ...versions(key), ...(elsewhere.delete(key) && { shards }) };
    return send(client, { cluster, key }, look).then(
      () => {
        failed.delete(key);
        const seconds = since === undefined ? undefined : (performance.now() - since) / 1_000;
        onSignalled?.({ kind: what, key, seconds });
      },
      (error: unknown) => {
        failed.add(key);
        if (since !== undefined) seen.set(key, since);
        onFailure?.();
        log.warn(`a ${what} could not be signalled`, { owner: key, error: (error as Error).message });
      },
    );
  };
  const notifications = new DebouncedSignals(notify, (keys, key) => Math.max(notifyInterval(keys), leastMs(key)));
  const notifyAll = (keys: Iterable<string>): void => {
    for (const key of keys) notifications.for(key);
  };
  const signalled = (key: string): number => {
    notifications.for(key);
    return MS_A_KEY;
  };
  const look = (key: string): number => {
    const began = performance.now();
    if (isUnsettled(key)) notifications.for(key);
    return performance.now() - began;
  };
  const findUnmanaged = oneAtATime(
    async () => {
      // Before Temporal is asked: an owner that comes meanwhile has been signalled.
      const keys = all();
      if (keys.length === 0) return;
      for (const key of await signals.unmanaged(client, cluster, keys)) {
        elsewhere.add(key);
        notifications.for(key);
      }
    },
    (error) => log.warn(`the workflows of ${what}s could not be listed`, { error: error.message }),
  );
  return {
    // First the owners that have something to do, since these may have waited for a watch, then all: no plan shows what
    // only a workflow knows.
    start: async () => {
      await eachInTurn(all(), (key) => void look(key), ended.signal);
      await eachInTurn(all(), signalled, ended.signal);
    },
    hear: (change) => {
      for (const key of affected(change)) {
        if (!seen.has(key)) seen.set(key, performance.now());
        if (change.kind === what) notifications.atOnce(key);
        else notifications.for(key);
      }
    },
    tryAgain: () => notifyAll(failed),
    // Looks take a quarter of the worker's thread at most.
    resync: () => void eachInTurn(all(), (key) => 3 * look(key), ended.signal),
    findUnmanaged: () => void findUnmanaged(),
    stop: () => {
      ended.abort();
      notifications.stop();
    },
  };
}
