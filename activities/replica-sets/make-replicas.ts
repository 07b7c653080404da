import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { creationBlockedBy } from '../../decisions/scaling/removal-check.ts';
import { memberFromTemplate } from '../../decisions/template/vm-from-template.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { SpecWriter } from '../disks/spec-writer.ts';
import { createEach } from '../members/create-members.ts';
import { nameHolders } from '../owners/active-members.ts';
import { nothingDone, type Done } from '../owners/done.ts';
import { knownSet } from '../owners/live-owner.ts';
import type { CreateReplicasOptions, ReplicaSetKey } from './replica-set-request.ts';

/** Creates the activity that creates the VMs of a set. */
export function createMakeActivities({ client, cache, concurrency }: ActivityOptions) {
  return {
    /** Creates the VMs or VMIs of these names, each only while the set is as it was planned for, and not full. */
    createReplicas: async (
      key: ReplicaSetKey,
      names: string[],
      minVersions: ResourceVersions,
      { generation, skipSlowStart }: CreateReplicasOptions,
    ): Promise<Done> => {
      await cache.catchUp(minVersions, key);
      const set = await knownSet(client, cache, key);
      if (set === undefined || set.metadata.deletionTimestamp !== undefined)
        return { ...nothingDone, notWanted: names };
      return createEach({
        client,
        key,
        pool: null,
        writer: new SpecWriter(client, cache),
        items: names.map((name) => ({ name })),
        concurrency,
        skipSlowStart,
        holders: (owner) => nameHolders(cache, key, owner),
        creationBlockedBy: (_, owner, others) => creationBlockedBy({ generation, owner, others }),
        vmOf: ({ name }) => memberFromTemplate(key.kind, set, name),
      });
    },
  };
}
