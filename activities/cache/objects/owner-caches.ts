import { withoutManagedFields, type KubeObject } from '../../../api/objects.ts';
import { OWNER_KINDS } from '../../../api/owner-kinds.ts';
import { isInNamespace, type Resource } from '../../../api/resources.ts';
import { ownerView } from '../../../decisions/from-object/owner.ts';
import type { StoredVmiSet, StoredReplicaSet, StoredVmOwner } from '../../../decisions/views/owner.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import type { Missing } from '../../../kubernetes/lib/refused-kind.ts';
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
  'client' | 'resource' | 'namespace' | 'keeps' | 'relistMs' | 'isOptional' | 'onError' | 'onMissed' | 'onMissing'
>;

/** What the caches of all resources are made from. */
export interface AllOptions {
  client: KubeClient;
  /** The only namespace that is looked at, if the worker has rights in no other. */
  namespace?: string | undefined;
  /** Of which namespaces objects are kept, if not of all. */
  keeps?: ((namespace: string) => boolean) | undefined;
  /** Whether there is something to do without the objects of a kind. */
  isOptional?: (resource: Resource) => boolean;
  relistMs?: number;
  onError?: (resource: string, error: Error) => void;
  onMissed?: (resource: string, count: number) => void;
  /** Called when a kind of object that the worker can do without can't be listed, and with null when it can again. */
  onMissing?: (resource: Resource, message: Missing | null) => void;
}

/** Options of the caches of all resources. */
export const commonTo =
  ({ client, namespace, keeps, isOptional = () => false, relistMs, onError, onMissed, onMissing }: AllOptions) =>
  (resource: Resource): CommonOptions => ({
    client,
    resource,
    ...(namespace === undefined ? {} : { namespace }),
    ...(keeps !== undefined && isInNamespace(resource) ? { keeps } : {}),
    isOptional: isOptional(resource),
    ...(relistMs === undefined ? {} : { relistMs }),
    onError: (error: Error) => onError?.(resource.plural, error),
    onMissed: (count: number) => onMissed?.(resource.plural, count),
    onMissing: (message: Missing | null) => onMissing?.(resource, message),
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
