import { cancellationSignal } from '@temporalio/activity';
import type { Seen } from '../../decisions/lib/resource-versions.ts';
import { serverLost } from '../lib/shutdown.ts';
import { Changes, type Changed } from './changes.ts';
import type { ClusterCache } from './cluster-cache.ts';

/**
 * Events that come together are looked at together; of many thousand VMs, not more often than this times their number.
 */
const SETTLE_MS = 50;
export const SETTLE_MS_A_VM = 0.05;
/** A picture that nothing has changed is looked at again, should a watch have missed something. */
const LOOK_AGAIN_MS = 30_000;
/** What is only to be told is told after so long. */
const TELL_MS = 5_000;

/** What one look at the cluster has found. */
export interface Look<T> {
  /** What a wait that ends with this look resolves to. */
  found: T;
  /** Whether there is nothing to act upon, something to which more may be gathered, or enough. */
  worth: 'nothing' | 'something' | 'enough';
  /** Whether there is something to be told, though nothing to act upon. */
  isNews: boolean;
  /** VMs of which it says, for their time is over, that they have failed; by `namespace/name`. */
  late?: readonly string[];
  /**
   * When a look would find something else though nothing has changed; milliseconds since the epoch. Those of the past
   * count for nothing.
   */
  times: number[];
}

export interface LongLookOptions {
  cache: ClusterCache;
  /** Aborted when the worker is asked to end. */
  stopping: AbortSignal;
  /** No look is at anything older. */
  seen: Seen;
  concerns: (changed: Changed) => boolean;
  /** So long events are gathered before the next look; asked for before each. */
  settleMs?: () => number;
  /** So long more is gathered to what has been found. */
  gatherMs?: number;
}

/**
 * Looks at the cluster, and again whenever something has changed that concerns it or a time has come, until what it finds
 * is worth a turn of the workflow. For an activity that heartbeats meanwhile. No VM is taken for late on the word of
 * the caches alone.
 */
export async function longLook<T>(
  options: LongLookOptions,
  look: (now: number, isConfirmed: boolean) => Look<T> | Promise<Look<T>>,
): Promise<T> {
  const { cache, stopping, seen, concerns, settleMs = () => 0, gatherMs = 0 } = options;
  await cache.catchUp(seen);
  const changes = new Changes(cache, stopping, concerns);
  try {
    const began = Date.now();
    let foundAt: number | null = null;
    for (;;) {
      cancellationSignal().throwIfAborted();
      if (cache.lost.aborted) throw serverLost();
      const now = Date.now();
      const { found, worth, isNews, times } = await confirmed(cache, now, look);
      foundAt = worth === 'nothing' ? null : (foundAt ?? now);
      const dueAt = Math.min(
        worth === 'enough' ? now : Infinity,
        foundAt === null ? Infinity : foundAt + gatherMs,
        isNews ? began + TELL_MS : Infinity,
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
  look: (now: number, isConfirmed: boolean) => Look<T> | Promise<Look<T>>,
): Promise<Look<T>> {
  const first = await look(now, false);
  if (first.late === undefined || first.late.length === 0) return first;
  await cache.confirm(first.late);
  return look(now, true);
}
