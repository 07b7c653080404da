import type { KubeObject } from '../../api/objects.ts';
import { wantedReplicas, type Wanting } from '../../api/rules/wanted-replicas.ts';
import type { StoredVmOwner } from '../views/owner.ts';
import type { StoredPool } from '../views/pool.ts';

/** Returns a pool or a set with the number of members that it wants, also if its spec leaves that out. */
export function ownerView(object: KubeObject): StoredVmOwner {
  const owner = object as KubeObject & Wanting;
  if (owner.spec.replicas !== undefined) return object as StoredVmOwner;
  const spec = { ...owner.spec, replicas: wantedReplicas(owner) };
  return { ...object, spec, replicasOmitted: true } as StoredVmOwner;
}

export const poolView = (object: KubeObject): StoredPool => ownerView(object) as StoredPool;
