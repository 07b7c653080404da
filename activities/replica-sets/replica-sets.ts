import {
  containedVmiSetPlan,
  containedReplicaSetPlan,
  type ContainedSetPlan,
} from '../../decisions/replica-sets/contained-plan.ts';
import type { StoredVmiSet, StoredReplicaSet, StoredSet } from '../../decisions/views/owner.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { vmiSetSnapshot, setSnapshot } from '../cache/snapshot.ts';
import { requireOwnLocalCall, type OwnerIdOf, planned, type OnPlanned } from '../lib/planned.ts';
import { serverLost } from '../lib/shutdown.ts';
import { kindOfOwner } from '../owners/kinds.ts';
import { knownSet } from '../owners/live-owner.ts';
import { writeFound } from '../owners/status.ts';
import { createAdoptionActivities } from './adopt-vms.ts';
import { createMakeActivities } from './make-replicas.ts';
import type { PlannedSet, ReplicaSetRequest } from './replica-set-request.ts';

interface ReplicaSetActivityOptions extends ActivityOptions {
  ownerIdOf: OwnerIdOf;
  /** Maximum number of VMs of a set in flight, creations and deletions each. */
  burst: number;
  onPlanned?: OnPlanned;
}

/** Creates the activities of replica sets alone; their members leave as the VMs of pools do. */
export function createReplicaSetActivities(options: ReplicaSetActivityOptions) {
  const { client, cache, ownerIdOf, burst, onPlanned } = options;
  const planOf = ({ kind, starts, ...rest }: ReplicaSetRequest, set: StoredSet): ContainedSetPlan =>
    kind === 'VirtualMachineReplicaSet'
      ? containedReplicaSetPlan({ ...setSnapshot(cache, set as StoredReplicaSet), ...rest, burst })
      : containedVmiSetPlan({ ...vmiSetSnapshot(cache, set as StoredVmiSet), ...rest, burst, starts });
  return {
    /**
     * Returns the next steps of a set, planned on a snapshot that is not older than `minVersions`, and by the API
     * server's clock, of which the times of VMs and VMIs are. A local activity: it writes nothing but the status that
     * it has found.
     */
    async planReplicaSet(request: ReplicaSetRequest): Promise<PlannedSet> {
      const { kind, namespace, name, minVersions, resultUnknown } = request;
      const now = client.clock.now();
      const clockAheadMs = now - request.now;
      if (cache.lost.aborted) throw serverLost();
      requireOwnLocalCall(ownerIdOf, kind, request);
      if (resultUnknown) await cache[kindOfOwner({ kind }).members.cache].relist({ namespace });
      const reached = await cache.catchUp(minVersions, { namespace });
      const set = await knownSet(client, cache, { kind, namespace, name });
      if (set === undefined || cache.isDelegated(request.namespace)) return { gone: true };
      const { uid, generation = 0 } = set.metadata;
      const plan = planned({ kind, namespace, name }, () => planOf({ ...request, now }, set), onPlanned);
      const key = { kind, namespace, name, uid };
      const requeueAt = plan.requeueAt === null ? null : plan.requeueAt - clockAheadMs;
      const { status, ...found } = plan;
      const { events } = plan;
      const known = await writeFound(options, request, reached, { key, seen: set, status, events });
      return { gone: false, key, generation, ...known, ...found, requeueAt, clockAheadMs };
    },

    ...createMakeActivities(options),
    ...createAdoptionActivities(options),
  };
}

export type ReplicaSetActivities = ReturnType<typeof createReplicaSetActivities>;
