import { once } from 'node:events';
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { canonical } from '../decisions/canonical.ts';
import { planPool } from '../decisions/pool-plan.ts';
import type { StoredPool } from '../decisions/vm-from-template.ts';
import type { VmView } from '../decisions/vm.ts';
import type { Fleet, FleetChange } from './fleet.ts';
import { Nudges } from './nudges.ts';

export interface WatchActivityOptions {
  fleet: Fleet;
  burst: number;
  /** Sends `changed` to the workflow of a pool, and starts it where it doesn't run. */
  nudgePool: (client: Client, pool: { cluster: string; namespace: string; name: string }, seen: { pools: string; vms: string }) => Promise<void>;
  /** Told how many nudges could not be sent. */
  onFailure?: () => void;
  /** Aborted when the worker is asked to end: its watch moves to another worker at once. */
  stopping: AbortSignal;
  resyncMs?: number;
}

const NUDGE_INTERVAL_MS = 1_000;
const HEARTBEAT_MS = 2_000;
const RESYNC_MS = 300_000;

export function createWatchActivities(options: WatchActivityOptions) {
  const { fleet, burst, nudgePool, onFailure, stopping, resyncMs = RESYNC_MS } = options;

  /** What the pool's workflow would do now, were it asked. */
  const isSettled = (pool: StoredPool): boolean => {
    const { namespace, uid } = pool.metadata;
    const isHeldByOther = (name: string): boolean => fleet.isHeldByOther(namespace, name, uid);
    const underWay = { creating: [], deleting: [] };
    const { steps, status } = planPool({ pool, vms: fleet.ownedBy(uid), isHeldByOther, underWay, burst, allowance: burst, failure: null });
    return steps.length === 0 && status === null;
  };

  return {
    /**
     * Runs until its worker ends or Temporal takes it away. Nudges each pool once at its start, then each to which
     * something happened, and every few minutes those that are not as they should be: a nudge that was lost costs no more.
     */
    async watchFleet({ cluster }: { cluster: string }): Promise<void> {
      // Held here: what the caches tell arrives outside of any activity, where there is no current one.
      const context = Context.current();
      const { client, log, info } = context;
      const failed = new Set<string>();
      const nudge = (key: string): void => {
        const [namespace = '', name = ''] = key.split('/');
        const seen = { pools: String(fleet.pools.version), vms: String(fleet.vms.version) };
        nudgePool(client, { cluster, namespace, name }, seen).then(
          () => failed.delete(key),
          (error: unknown) => {
            failed.add(key);
            onFailure?.();
            log.warn('a pool could not be nudged', { pool: key, error: (error as Error).message });
          },
        );
      };
      const nudges = new Nudges(nudge, NUDGE_INTERVAL_MS);
      const unsubscribe = fleet.subscribe((change) => {
        for (const key of stirredBy(change)) nudges.for(key);
      });
      for (const pool of fleet.pools.values()) nudges.for(keyOf(pool));
      const beat = setInterval(() => {
        context.heartbeat();
        for (const key of failed) nudges.for(key);
      }, HEARTBEAT_MS);
      const resync = setInterval(() => {
        for (const pool of fleet.pools.values()) if (!isSettled(pool)) nudges.for(keyOf(pool));
      }, resyncMs);
      log.info('watching', { cluster, pools: fleet.pools.size, vms: fleet.vms.size, attempt: info.attempt });
      try {
        await Promise.race([context.cancelled, aborted(stopping)]);
      } finally {
        clearInterval(beat);
        clearInterval(resync);
        unsubscribe();
        nudges.stop();
      }
    },
  };
}

/** Rejects with a failure that Temporal retries elsewhere. */
async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw ApplicationFailure.create({ type: 'WorkerStopping', message: 'the worker ends', nextRetryDelay: 1 });
}

export type WatchActivities = ReturnType<typeof createWatchActivities>;

const keyOf = (pool: StoredPool): string => `${pool.metadata.namespace}/${pool.metadata.name}`;

/** The pools that a change concerns; none where nothing changed that a decision reads. */
function stirredBy(change: FleetChange): Set<string> {
  const keys = new Set<string>();
  if (change.kind === 'pool') {
    const pool = change.after ?? change.before!;
    if (poolWords(change.before) !== poolWords(change.after)) keys.add(keyOf(pool));
  } else if (!looksTheSame(change.before, change.after)) {
    for (const vm of [change.before, change.after]) {
      if (vm?.owner?.kind === 'VirtualMachinePool') keys.add(`${vm.namespace}/${vm.owner.name}`);
    }
  }
  return keys;
}

/** All of a pool that a decision reads, but for its status: drover itself writes that. */
const poolWords = (pool: StoredPool | undefined): string => {
  if (pool === undefined) return '';
  const { uid, generation, deletionTimestamp, finalizers } = pool.metadata;
  return canonical({ uid, generation, deletionTimestamp, finalizers });
};

/** True where nothing of a VM has changed that a decision reads. */
function looksTheSame(before: VmView | undefined, after: VmView | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return Object.entries(after).every(([key, value]: [string, unknown]) => {
    const other: unknown = before[key as keyof VmView];
    return value === other || key === 'resourceVersion' || (typeof value === 'object' && canonical(value) === canonical(other));
  });
}
