import type { ClusterCache } from '../activities/cache/cluster-cache.ts';
import { ActRefused } from '../kubernetes/errors.ts';

/** Throws if a write to this path is about a namespace that is left to its own workers. */
export function refuseDelegated(cache: Pick<ClusterCache, 'isDelegated'>, path: string): void {
  const [, namespace] = /\/namespaces\/([^/]+)\//.exec(path) ?? [];
  if (namespace === undefined || !cache.isDelegated(namespace)) return;
  throw new ActRefused('NamespaceLeft', `namespace ${namespace} is left to its own drover workers`);
}
