import { formatNames } from '../../decisions/lib/names.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { recordEvent } from '../lib/events.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import type { Done, PoolKey } from '../pool/types.ts';
import { discardDisk, unmarkDisk, type ClaimTarget } from './discard.ts';

export interface DiskStepOptions {
  client: KubeClient;
  poolOf: (key: PoolKey) => Promise<StoredPool | undefined>;
  /** Runs `act` on each item; returns a refusal in words instead of throwing it. */
  each: <T extends { name: string }>(
    items: readonly T[],
    act: (item: T) => Promise<void>,
  ) => Promise<Pick<Done, 'count' | 'refused'>>;
}

/** Creates the activities for disks that a pool has kept. */
export function createDiskActivities({ client, poolOf, each }: DiskStepOptions) {
  return {
    /** Deletes kept disks of the pool that are still kept, and records that as an Event on the pool. */
    discardDisks: (key: PoolKey, claims: ClaimTarget[]): Promise<Done> =>
      withHeartbeat(async () => {
        const gone: string[] = [];
        const { count, refused } = await each(claims, async (claim) => {
          if (await discardDisk(client, key, claim)) gone.push(claim.name);
        });
        const pool = await poolOf(key);
        if (pool !== undefined && gone.length > 0) {
          const note = `Deleted kept disks ${formatNames(gone)}: the pool keeps none any more, and their VMs come back`;
          await recordEvent(client, pool, { type: 'Normal', reason: 'KeptDisksDeleted', action: 'ScaleOut', note });
        }
        return { count, taken: [], notWanted: [], refused, seen: {} };
      }),

    /** Removes the marks from claims whose VMs are back. */
    unmarkDisks: (key: PoolKey, claims: (ClaimTarget & { resourceVersion: string })[]): Promise<void> =>
      withHeartbeat(async () => void (await each(claims, (claim) => unmarkDisk(client, key.namespace, claim)))),
  };
}
