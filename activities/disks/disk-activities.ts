import { setTimeout as sleep } from 'node:timers/promises';
import { formatNames } from '../../decisions/lib/names.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import type { ActivityOptions } from '../cache/access.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { recordEvent } from '../lib/events.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { nothingDone, type Done } from '../owners/done.ts';
import { versionsOf } from '../owners/kinds.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { outcomeOf, tryEach, type Acted } from '../owners/try-each.ts';
import { discardDisk, unmarkDisk } from './discard.ts';

/** Creates the activities for disks that a pool has kept. */
export function createDiskActivities({ client, cache, concurrency: most }: ActivityOptions) {
  return {
    /** Deletes kept disks of the pool that are still kept, and records that as an Event on the pool. */
    async deleteKeptDisks(key: PoolKey, claims: (Member & { vm: string })[]): Promise<Done> {
      const gone: string[] = [];
      const poolNow = sharedCall(() => livePool(client, key));
      const discard = async (claim: Member): Promise<Acted> => {
        const acted = await discardDisk({ client, cache }, key, await poolNow(), claim);
        if (acted === 'done') gone.push(claim.name);
        return acted;
      };
      const { count, refused } = await tryEach(claims, discard, { most });
      const isRefused = ({ name }: Member): boolean => refused?.names?.includes(name) === true;
      if (refused?.isGeneral !== true)
        await waitForDiscard(
          cache,
          key.namespace,
          claims.filter((claim) => !isRefused(claim)),
        );
      if (gone.length > 0) {
        const note = `Deleted kept disks ${formatNames(gone)}: the pool no longer keeps disks, and their VMs come back`;
        await recordEvent(client, key, { type: 'Normal', reason: 'KeptDisksDeleted', action: 'ScaleOut', note });
      }
      // It is the VMs that can't come back, and others go before them.
      const vmsOf = (names: readonly string[]): string[] =>
        claims.filter(({ name }) => names.includes(name)).map(({ vm }) => vm);
      const names = vmsOf(refused?.names ?? []);
      const minVersions = versionsOf(key, (await poolNow())?.metadata.resourceVersion);
      return { ...nothingDone, count, refused: refused === null ? null : { ...refused, names }, minVersions };
    },

    /** Removes the marks from claims that the VMs of their numbers use again. */
    unmarkKeptDisks: async (key: PoolKey, claims: (Member & { resourceVersion: string })[]): Promise<Acted> =>
      outcomeOf(await tryEach(claims, (claim) => unmarkDisk(client, key, claim), { most })),
  };
}

const TIMEOUT_MS = 5_000;

/** Resolves once the cache shows none of these claims as kept: a plan before that would have them deleted again. */
async function waitForDiscard(
  cache: Pick<ClusterCache, 'keptClaims' | 'subscribe'>,
  namespace: string,
  claims: readonly Member[],
): Promise<void> {
  const isKept = ({ name, uid }: Member): boolean => {
    const claim = cache.keptClaims.get(`${namespace}/${name}`);
    return claim?.uid === uid && !claim.deleting;
  };
  if (!claims.some(isKept)) return;
  const gone = Promise.withResolvers<void>();
  const unsubscribe = cache.subscribe(({ kind }) => {
    if (kind === 'disk' && !claims.some(isKept)) gone.resolve();
  });
  const timeout = new AbortController();
  try {
    const late = sleep(TIMEOUT_MS, 'late', { signal: timeout.signal }).catch(() => undefined);
    if ((await Promise.race([gone.promise, late])) === 'late') await cache.keptClaims.relist();
  } finally {
    timeout.abort();
    unsubscribe();
  }
}
