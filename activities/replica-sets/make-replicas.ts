import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { whyNotMake } from '../../decisions/scaling/departure.ts';
import { memberFromTemplate } from '../../decisions/template/vm-from-template.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { createEach } from '../lib/create-vms.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { placesHeld } from '../pool/active-members.ts';
import { knownSet } from '../pool/live-pool.ts';
import { nothingDone, type Done } from '../pool/types.ts';
import type { HowToMake, ReplicaSetKey } from './types.ts';

export interface MakeOptions {
  client: KubeClient;
  cache: ClusterCache;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
}

/** Creates the activity by which new VMs come into a set. */
export function createMakeActivities({ client, cache, concurrency }: MakeOptions) {
  return {
    /** Creates the VMs or VMIs of these names, each only while the set is as it was planned for, and not full. */
    makeReplicas: (
      key: ReplicaSetKey,
      names: string[],
      seen: ResourceVersions,
      { generation, skipSlowStart }: HowToMake,
    ): Promise<Done> =>
      withHeartbeat(async () => {
        await cache.catchUp(seen);
        const set = await knownSet(client, cache, key);
        if (set === undefined || set.metadata.deletionTimestamp !== undefined)
          return { ...nothingDone, notWanted: names };
        return createEach({
          client,
          key,
          owner: set,
          items: names.map((name) => ({ name })),
          concurrency,
          skipSlowStart,
          whyNotMake: ({ name }, owner, made) =>
            whyNotMake({ generation, owner, vms: [], name, made }) ??
            whyNotMake({ generation: undefined, owner, vms: placesHeld(cache, key, owner), name, made }),
          vmOf: ({ name }) => memberFromTemplate(key.kind, set, name),
        });
      }),
  };
}
