import type { Stored } from '../../api/objects.ts';
import { Pools, type OwnerKind } from '../cli/kinds.ts';
import type { Pool } from '../pool/objects.ts';
import type { ReplicaSet } from '../replica-sets/objects.ts';

/** A pool or a replica set: what their specs and statuses have in common can be read of both. */
export type Owner = Pool | ReplicaSet;

/** Whether an object of this kind is a pool, with revisions, rollouts and healing. */
export const isPool = (kind: OwnerKind, _owner: Stored<Owner>): _owner is Stored<Pool> => kind === Pools;
