import { formatNames } from '../../decisions/lib/names.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { waitForTermination } from '../cache/wait-for-termination.ts';
import { recordEvent } from '../lib/events.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { nothingDone, type Done } from '../owners/done.ts';
import { versionsOf } from '../owners/kinds.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { outcomeOf, tryEach, type Acted } from '../owners/try-each.ts';
import { discardDisk, unlabelDisk } from './discard.ts';

/** Creates the activities for disks that a pool has kept. */
export function createDiskActivities({ client, cache, concurrency: most }: ActivityOptions) {
  return {
    /** Deletes kept disks of the pool that are still kept, and records that as an Event on the pool. */
    deleteKeptDisks: async (key: PoolKey, claims: (Member & { vm: string })[]): Promise<Done> => {
      const gone: string[] = [];
      const poolNow = sharedCall(() => livePool(client, key));
      const discard = async (claim: Member): Promise<Acted> => {
        const acted = await discardDisk({ client, cache }, key, poolNow, claim);
        if (acted === 'done') gone.push(claim.name);
        return acted;
      };
      const { count, refused } = await tryEach(claims, discard, { most });
      const isRefused = ({ name }: Member): boolean => refused?.names?.includes(name) === true;
      if (refused?.isGeneral !== true)
        // A plan on an older cache would have them deleted again.
        await waitForTermination(
          cache,
          key.namespace,
          'keptClaims',
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
    unlabelKeptDisks: async (key: PoolKey, claims: (Member & { resourceVersion: string })[]): Promise<Acted> =>
      outcomeOf(await tryEach(claims, (claim) => unlabelDisk(client, key, claim), { most })),
  };
}
