import type { Stored, KubeObject } from '../../api/objects.ts';
import type { PoolSpec, PoolStatus } from '../../api/pool/pool.ts';
import type { ReplicaSetSpec, ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { Pools, type OwnerKind } from './kinds.ts';

/** A pool or a replica set: what their specs and statuses have in common can be read of both. */
export type Owner = Pool | ReplicaSet;

/** Whether an object of this kind is a pool, with revisions, rollouts and healing. */
export const isPool = (kind: OwnerKind, _owner: Stored<Owner>): _owner is Stored<Pool> => kind === Pools;

/** A pool as the API server has it. */
export interface Pool extends KubeObject {
  spec: PoolSpec;
  status?: PoolStatus;
}

/** A replica set as the API server has it. */
export interface ReplicaSet extends KubeObject {
  spec: ReplicaSetSpec;
  status?: ReplicaSetStatus;
}

/** Sorts `web-2` before `web-10`. */
export const byName = (a: KubeObject, b: KubeObject): number =>
  (a.metadata.namespace ?? '').localeCompare(b.metadata.namespace ?? '') ||
  a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true });
