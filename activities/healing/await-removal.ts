import type { AttemptId } from '../../decisions/healing/attempt.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { Changed } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { waitFor } from '../cache/wait-for.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import type { PoolKey } from '../owners/types.ts';

export interface AwaitRemovalOptions {
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
    awaitRemoval: (
      { namespace }: PoolKey,
      { vm: name, uid }: Pick<AttemptId, 'vm' | 'uid'>,
    ): Promise<ResourceVersions> =>
      withHeartbeat(() => {
        const key = `${namespace}/${name}`;
        const isRelevant = (changed: Changed): boolean =>
          changed.kind === 'vm' && changed.namespace === namespace && changed.name === name;
        return waitFor({ cache, stopping, minVersions: {}, isRelevant }, (_now, isConfirmed) => {
          const isGone = cache.vms.get(key)?.uid !== uid;
          return {
            found: cache.versionsOf('vms'),
            worth: isGone && isConfirmed ? 'enough' : 'nothing',
            shouldReport: false,
            late: isGone ? [key] : [],
            times: [],
          };
        });
      }),
  };
}

export type AwaitRemovalActivities = ReturnType<typeof createAwaitRemovalActivities>;
