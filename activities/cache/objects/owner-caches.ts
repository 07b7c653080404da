import { withoutManagedFields, type KubeObject } from '../../../api/objects.ts';
import { OWNER_KINDS } from '../../../api/owner-kinds.ts';
import type { Resource } from '../../../api/resources.ts';
import { ownerView } from '../../../decisions/views/from-object/owner.ts';
import type { StoredVmiSet, StoredReplicaSet, StoredVmOwner } from '../../../decisions/views/owner.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ListWatch, type ListWatchOptions } from '../../../kubernetes/list-watch.ts';
import type { OwnerChange } from './cache-change.ts';

/** The caches of the objects that own members, one of each kind. */
export interface OwnerCaches {
  pools: ListWatch<KubeObject, StoredPool>;
  replicaSets: ListWatch<KubeObject, StoredReplicaSet>;
  vmiSets: ListWatch<KubeObject, StoredVmiSet>;
}

/** Options that the caches of all resources have. */
export type CommonOptions = Pick<
  ListWatchOptions<KubeObject, unknown>,
  'client' | 'resource' | 'relistMs' | 'onError' | 'onMissed'
>;

/** What the caches of all resources are made from. */
export interface AllOptions {
  client: KubeClient;
  relistMs?: number;
  onError?: (resource: string, error: Error) => void;
  onMissed?: (resource: string, count: number) => void;
}

/** Options of the caches of all resources. */
export const commonTo =
  ({ client, relistMs, onError, onMissed }: AllOptions) =>
  (resource: Resource): CommonOptions => ({
    client,
    resource,
    ...(relistMs === undefined ? {} : { relistMs }),
    onError: (error: Error) => onError?.(resource.plural, error),
    onMissed: (count: number) => onMissed?.(resource.plural, count),
  });

/** Creates the caches of all kinds of owners, whole but for what the API server notes about fields. */
export function ownerCaches(
  common: (resource: Resource) => CommonOptions,
  onChange: (change: OwnerChange) => void,
): OwnerCaches {
  const caches = Object.values(OWNER_KINDS).map(({ resource, noun, cache }) => {
    const owners = new ListWatch<KubeObject, StoredVmOwner>({
      ...common(resource),
      view: (object) => ownerView(withoutManagedFields(object)),
      onChange: (_key, before, after) => onChange({ kind: noun, before, after } as OwnerChange),
    });
    return [cache, owners] as const;
  });
  return Object.fromEntries(caches) as unknown as OwnerCaches;
}
