import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { containedPlan } from '../../decisions/pool/contained-plan.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { snapshotOf } from '../cache/snapshot.ts';
import { untilLost, untilStopping } from '../lib/shutdown.ts';
import { keyOfPool, affectedPools } from './affected-pools.ts';
import { notifyInterval, DebouncedSignals } from './debounced-signals.ts';

type Notify = (
  client: Client,
  pool: { cluster: string; namespace: string; name: string },
  seen: ResourceVersions,
) => Promise<void>;

export interface WatchActivityOptions {
  cache: ClusterCache;
  burst: number;
  /** Sends `changed` to the workflow of a pool, and starts the workflow if it isn't running. */
  notifyPool: Notify;
  /** Does the same for a deleted pool, but never starts its workflow. */
  tellGone: Notify;
  /** Called for each signal that could not be sent. */
  onFailure?: () => void;
  /** Aborted when the worker is asked to shut down: its watch then moves to another worker at once. */
  stopping: AbortSignal;
  resyncMs?: number;
}

const HEARTBEAT_MS = 2_000;
const RESYNC_MS = 300_000;

export function createWatchActivities(options: WatchActivityOptions) {
  const { cache, burst, notifyPool, tellGone, onFailure, stopping, resyncMs = RESYNC_MS } = options;

  /** Reports whether the pool's workflow would have nothing to do now. */
  const isSettled = (pool: StoredPool): boolean => {
    const idle = {
      inProgress: { creating: [], deleting: [] },
      failure: null,
      rollout: null,
      batches: [],
      healing: null,
      batchesNotBefore: 0,
    };
    const { steps, status, healing } = containedPlan({
      ...snapshotOf(cache, pool),
      ...idle,
      burst,
      allowance: burst,
      now: Date.now(),
    }).plan;
    // The status says nothing of attempts: those in progress would be begun again.
    const isHealing = healing.begin.every(({ isAgain }) => isAgain);
    return steps.length === 0 && status === null && isHealing;
  };

  return {
    /**
     * Runs until its worker shuts down or loses the API server, or Temporal cancels it. Signals every pool once at the
     * start, then each pool to which something has happened, and every few minutes those that have something to do: a
     * lost signal costs no more than that.
     */
    async watchFleet({ cluster }: { cluster: string }): Promise<void> {
      // Kept here: cache callbacks run outside any activity, where there is no current context.
      const context = Context.current();
      const { client, log, info } = context;
      const failed = new Set<string>();
      const notify = (key: string): Promise<void> => {
        const [namespace = '', name = ''] = key.split('/');
        const seen = cache.versionsOf('pools', 'vms', 'vmis');
        const send = cache.pools.get(key) === undefined ? tellGone : notifyPool;
        return send(client, { cluster, namespace, name }, seen).then(
          () => void failed.delete(key),
          (error: unknown) => {
            failed.add(key);
            onFailure?.();
            log.warn('a pool could not be signalled', { pool: key, error: (error as Error).message });
          },
        );
      };
      const notifications = new DebouncedSignals(notify, notifyInterval);
      const unsubscribe = cache.subscribe((change) => {
        for (const key of affectedPools(change, cache)) {
          if (change.kind === 'pool') notifications.atOnce(key);
          else notifications.for(key);
        }
      });
      for (const pool of cache.pools.values()) notifications.for(keyOfPool(pool));
      const beat = setInterval(() => {
        context.heartbeat();
        for (const key of failed) notifications.for(key);
      }, HEARTBEAT_MS);
      const resync = setInterval(() => {
        for (const pool of cache.pools.values()) if (!isSettled(pool)) notifications.for(keyOfPool(pool));
      }, resyncMs);
      log.info('watching', { cluster, pools: cache.pools.size, vms: cache.vms.size, attempt: info.attempt });
      try {
        await Promise.race([context.cancelled, untilStopping(stopping), untilLost(cache.lost)]);
      } finally {
        clearInterval(beat);
        clearInterval(resync);
        unsubscribe();
        notifications.stop();
      }
    },
  };
}

export type WatchActivities = ReturnType<typeof createWatchActivities>;
