import type { AttemptId } from '../../decisions/healing/attempt.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { Changes, ofMembers } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { serverLost } from '../lib/shutdown.ts';
import type { PoolKey } from '../owners/owner-key.ts';

/** Changes within this time, in milliseconds, count as one. */
const SETTLE_MS = 50;
/** Without any change, the cache is looked at again after this long, in milliseconds: a watch may miss something. */
const LOOK_AGAIN_MS = 30_000;

interface AwaitRemovalOptions {
  cache: ClusterCache;
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
}

export function createAwaitRemovalActivities({ cache, stopping }: AwaitRemovalOptions) {
  return {
    /**
     * Waits until the VM with this UID is gone. Looks at this worker's cache, and asks the API server before it
     * resolves, since the cache may be older than the VM. Resolves with the resource versions that a later plan must
     * have seen.
     */
    awaitRemoval: async (
      { namespace }: PoolKey,
      { vm: name, uid }: Pick<AttemptId, 'vm' | 'uid'>,
    ): Promise<ResourceVersions> => {
      const key = `${namespace}/${name}`;
      const isGone = (): boolean => cache.vms.get(key)?.uid !== uid;
      const changes = new Changes(
        cache,
        stopping,
        ofMembers((changed) => changed.kind === 'vm' && changed.namespace === namespace && changed.name === name),
      );
      try {
        for (;;) {
          if (cache.lost.aborted) throw serverLost();
          if (isGone()) await cache.confirm([key]);
          if (isGone()) return cache.versionsOf('vms');
          await changes.next(LOOK_AGAIN_MS, SETTLE_MS);
        }
      } finally {
        changes.stop();
      }
    },
  };
}

export type AwaitRemovalActivities = ReturnType<typeof createAwaitRemovalActivities>;
