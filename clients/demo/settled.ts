import type { Stored } from '../../api/objects.ts';
import { identityOf } from '../../api/owner-references.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { Failure } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import { isReady, membersByOwner } from '../owners/members.ts';
import type { OwnerWatch } from '../owners/watch.ts';

/**
 * Reports whether there are pools, each has as many VMs as its spec says, all of them are ready and of its newest
 * revision, and its status says so. Throws `Failure` if a pool says that it can't create them.
 */
export function settled(fleet: Pick<OwnerWatch, 'owners' | 'members'>): boolean {
  const vms = membersByOwner(fleet.members(), Pools);
  const pools = fleet.owners() as Stored<Pool>[];
  const areSettled = pools.map((pool) => {
    const { metadata, spec, status } = pool;
    const { name, generation } = metadata;
    const { replicas } = spec;
    const refused = status?.conditions?.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True');
    if (refused !== undefined) throw new Failure(`pool ${name}: ${refused.reason}: ${refused.message}`);
    const owned = vms(identityOf(pool));
    const {
      observedGeneration,
      replicas: there,
      readyReplicas,
      updatedReplicas,
      currentRevision,
      updateRevision,
    } = status ?? {};
    const counts = [there, readyReplicas, updatedReplicas];
    const said =
      observedGeneration === generation &&
      counts.every((count) => count === replicas) &&
      currentRevision === updateRevision;
    return said && owned.length === replicas && owned.every(isReady);
  });
  return pools.length > 0 && areSettled.every(Boolean);
}
