import type { SetKind } from '../../api/owner-kinds.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';

/** A pool, identified by its UID: what is done for it is not done for a later pool of the same name. */
export interface PoolKey {
  namespace: string;
  name: string;
  uid: string;
}

/** A pool or a replica set, as a pool is by its key; without `kind` it is a pool. */
export interface OwnerKey extends PoolKey {
  kind?: SetKind | undefined;
}

/** Returns `namespace/name` of a pool or a replica set. */
export const ownerName = ({ metadata: { namespace, name } }: StoredVmOwner): string => `${namespace}/${name}`;
