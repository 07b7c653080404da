import type { KubeObject, Stored } from '../../api/objects.ts';
import type { ReplicaSet } from '../../decisions/views/owner.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { Pools, type OwnerKind } from './kinds.ts';

/** A pool or a replica set: what their specs and statuses have in common can be read of both. */
export type Owner = Pool | ReplicaSet;

/** Whether an object of this kind is a pool, with revisions, rollouts and healing. */
export const isPool = (kind: OwnerKind, _owner: Stored<Owner>): _owner is Stored<Pool> => kind === Pools;

/** Sorts `web-2` before `web-10`. */
export const byName = (a: KubeObject, b: KubeObject): number =>
  (a.metadata.namespace ?? '').localeCompare(b.metadata.namespace ?? '') ||
  a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true });
