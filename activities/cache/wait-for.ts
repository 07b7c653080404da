import { cancellationSignal } from '@temporalio/activity';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { serverLost } from '../lib/shutdown.ts';
import { Changes, type Changed } from './changes.ts';
import type { ClusterCache } from './cluster-cache.ts';

/** How long changes are gathered before the next look. */
const SETTLE_MS = 50;
/** Without any change, the cluster is looked at again after this long, in case a watch has missed something. */
const LOOK_AGAIN_MS = 30_000;
/** News that needs no action is reported after this long. */
const REPORT_MS = 5_000;

/** What one look at the cluster found. */
export interface Observation<T> {
  /** What the wait resolves to if it ends with this look. */
  found: T;
  /** Whether there is nothing to act on, something (more may be gathered), or enough. */
  worth: 'nothing' | 'something' | 'enough';
  /** Whether there is something to report, even if there is nothing to act on. */
  shouldReport: boolean;
  /** VMs that this look takes for failed because their deadline has passed, by `namespace/name`. */
  late?: readonly string[];
  /**
   * When a look would find something else even if nothing changes, in milliseconds since the epoch. Past times are
   * ignored.
   */
  times: number[];
}

export interface WaitForOptions {
  cache: ClusterCache;
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
  /** Every look is at caches that are at least this new. */
  minVersions: ResourceVersions;
  isRelevant: (changed: Changed) => boolean;
  /** How long changes are gathered before the next look, in milliseconds; asked before each look. */
  settleMs?: () => number;
  /** How long more is gathered once something has been found, in milliseconds. */
  gatherMs?: number;
}

/**
 * Looks at the cluster, and again whenever something relevant has changed or a time has come, until what it finds is
 * worth a turn of the workflow. For an activity that heartbeats meanwhile. Asks the API server before it takes a VM for
 * late: the caches alone may be outdated.
 */
export async function waitFor<T>(
  options: WaitForOptions,
  look: (now: number, isConfirmed: boolean) => Observation<T> | Promise<Observation<T>>,
): Promise<T> {
  const { cache, stopping, minVersions, isRelevant, settleMs = () => 0, gatherMs = 0 } = options;
  await cache.catchUp(minVersions);
  const changes = new Changes(cache, stopping, isRelevant);
  try {
    const began = Date.now();
    let foundAt: number | null = null;
    for (;;) {
      cancellationSignal().throwIfAborted();
      if (cache.lost.aborted) throw serverLost();
      const now = Date.now();
      const { found, worth, shouldReport, times } = await confirmed(cache, now, look);
      foundAt = worth === 'nothing' ? null : (foundAt ?? now);
      const dueAt = Math.min(
        worth === 'enough' ? now : Infinity,
        foundAt === null ? Infinity : foundAt + gatherMs,
        shouldReport ? began + REPORT_MS : Infinity,
      );
      if (dueAt <= now) return found;
      const wakeAt = Math.min(dueAt, now + LOOK_AGAIN_MS, ...times.filter((time) => time > now));
      await changes.next(Math.max(wakeAt - Date.now(), 1), Math.max(SETTLE_MS, settleMs()));
    }
  } finally {
    changes.stop();
  }
}

async function confirmed<T>(
  cache: ClusterCache,
  now: number,
  look: (now: number, isConfirmed: boolean) => Observation<T> | Promise<Observation<T>>,
): Promise<Observation<T>> {
  const first = await look(now, false);
  if (first.late === undefined || first.late.length === 0) return first;
  await cache.confirm(first.late);
  return look(now, true);
}
