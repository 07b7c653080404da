import { OWNER_KINDS } from '../../api/owner-kinds.ts';
import type { Within } from '../../decisions/machine-types/transition.ts';
import { namespacesOf, type OperationScope } from '../../decisions/operations/scope.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';

export type ScopeCaches = Pick<ClusterCache, 'isDelegated' | 'namespaces' | 'pools' | 'replicaSets'>;

/** Returns where the operation may find its VMs, by what this worker knows: as the labels of namespaces are later. */
export function scopeOf(cache: ScopeCaches, operation: StoredOperation): OperationScope {
  const selects = namespacesOf(operation, (namespace) => cache.namespaces.get(namespace));
  const includes = (namespace: string): boolean => selects(namespace) && !cache.isDelegated(namespace);
  const { owner } = operation.spec.vms;
  const owners = new Set<string>();
  if (owner === undefined) return { includes, owners };
  for (const { metadata } of cache[OWNER_KINDS[owner.kind].cache].values())
    if (metadata.name === owner.name && includes(metadata.namespace)) owners.add(metadata.uid);
  return { includes, owners };
}

/** Returns the namespaces that the operation includes now, by what this worker knows: data, as `scopeOf` says it. */
export function includedIn(cache: ScopeCaches & Pick<ClusterCache, 'delegated'>, operation: StoredOperation): Within {
  const { metadata, spec } = operation;
  const { includes } = scopeOf(cache, operation);
  if (metadata.namespace !== undefined) return { namespaces: [metadata.namespace].filter(includes) };
  if (spec.namespaces === undefined && spec.namespaceSelector === undefined)
    return { namespaces: null, ...(cache.delegated.length === 0 ? {} : { delegated: cache.delegated }) };
  return { namespaces: [...new Set([...(spec.namespaces ?? []), ...cache.namespaces.keys()])].filter(includes) };
}
