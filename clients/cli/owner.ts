import type { KubeObject, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import type { ReplicaSet } from '../../decisions/views/owner.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Pools, type Kind } from './kinds.ts';

/** A pool or a replica set: what their specs and statuses have in common can be read of both. */
export type Owner = Pool | ReplicaSet;

/** Whether an object of this kind is a pool, with revisions, rollouts and healing. */
export const isPool = (kind: Kind, _owner: Stored): _owner is Stored<Pool> => kind === Pools;

/** Reads the named objects, in that order, or all by name. Throws a `KubeError` (404) if a named one is missing. */
export async function namedOrAll<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource,
  { namespace, names, selector }: { namespace: string | undefined; names: string[]; selector?: string | undefined },
): Promise<Stored<T>[]> {
  if (names.length > 0)
    return Promise.all([...new Set(names)].map((name) => kube.get<T>(resource, { namespace, name })));
  return (await kube.list<T>(resource, { namespace, labelSelector: selector })).items.sort(byName);
}

/** Sorts `web-2` before `web-10`. */
export const byName = (a: KubeObject, b: KubeObject): number =>
  (a.metadata.namespace ?? '').localeCompare(b.metadata.namespace ?? '') ||
  a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true });
