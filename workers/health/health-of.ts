import type { ClusterCache } from '../../activities/cache/cluster-cache.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { InForce } from '../settings/in-force.ts';
import type { Health } from './health.ts';

interface Serves {
  namespace: string | undefined;
  /** Undefined while it waits to be left to this worker, or for a server. */
  cache: ClusterCache | undefined;
  isServing: boolean;
  /** Whether it watches a namespace, or what is in none, for all workers: it alone reports the objects. */
  watches: (namespace: string | undefined) => boolean;
}

/**
 * Tells how a worker fares by all that it serves. It is ready if it takes work for all, but for namespaces that wait to
 * be left to it.
 */
export const healthOf = (all: readonly Serves[], metrics: Metrics, settings: readonly InForce[]): Health => ({
  config: () => ({ items: settings }),
  unready: () => {
    const isReady = all.some(({ isServing }) => isServing) && all.every(({ cache, isServing }) => isServing || !cache);
    return isReady ? undefined : all.flatMap((one) => (one.isServing ? [] : [whyNot(one)])).join('; ');
  },
  metrics: () => {
    const caches = all.flatMap(({ cache }) => cache ?? []);
    for (const { namespace, isServing } of all)
      if (namespace !== undefined) metrics.servedNamespaces.set({ namespace }, isServing ? 1 : 0);
    lookAtCaches(caches, metrics);
    const values = <T extends Placed>(of: (cache: ClusterCache) => Iterable<T>): T[] =>
      all.flatMap(({ cache, watches }) =>
        cache === undefined ? [] : [...of(cache)].filter((object) => watches(namespaceOf(object))),
      );
    const pools = values((cache) => cache.pools.values());
    metrics.pools.look(pools);
    metrics.vms.keep(pools);
    metrics.waitingVms.look(values((cache) => cache.vms.values()));
    metrics.sets.look(values((cache) => [...cache.replicaSets.values(), ...cache.vmiSets.values()]));
    metrics.operations.look(values((cache) => cache.operations.values()));
    metrics.schedules.look(values((cache) => cache.schedules.values()));
    metrics.budgets.look(values((cache) => cache.budgets.values()));
    return metrics.registry.metrics();
  },
});

type Placed = { namespace: string } | { metadata: { namespace?: string } };

const namespaceOf = (object: Placed): string | undefined =>
  'metadata' in object ? object.metadata.namespace : object.namespace;

/** Returns why no work is taken for the cluster or for a namespace. */
function whyNot({ namespace, cache }: Serves): string {
  const where = namespace === undefined ? '' : `namespace ${namespace}: `;
  if (cache === undefined)
    return `${where}the worker waits for Temporal, the API server or \`drover setup\`, as the log says`;
  if (cache.lost.aborted) return `${where}${whyLost(cache)}`;
  const listed = Object.entries(cache.caches).filter(([, { synced, missing }]) => !synced && missing === null);
  if (listed.length > 0) return `${where}${listed.map(([resource]) => resource).join(', ')} are being listed`;
  return `${where}Temporal has not accepted its workers yet, or it is shutting down`;
}

/** Returns why a worker counts the API server as lost. */
export function whyLost({ caches }: Pick<ClusterCache, 'caches'>): string {
  const followed = Object.entries(caches).filter(([, { missing }]) => missing === null);
  const behind = followed.filter(([, { behindMs }]) => behindMs > 0).map(([resource]) => resource);
  return behind.length === 0 || behind.length === followed.length
    ? 'the API server does not answer'
    : `the API server does not let it follow ${behind.join(', ')}`;
}

function lookAtCaches(caches: readonly ClusterCache[], metrics: Metrics): void {
  for (const gauge of [metrics.objects, metrics.cacheBehind, metrics.missingKinds]) gauge.reset();
  const behind: Record<string, number> = {};
  for (const cache of caches) {
    for (const [resource, { size, behindMs }] of Object.entries(cache.caches)) {
      metrics.objects.inc({ resource }, size);
      behind[resource] = Math.max(behind[resource] ?? 0, behindMs / 1000);
    }
    for (const { resource } of cache.missing) metrics.missingKinds.set({ resource: resource.plural }, 1);
  }
  for (const [resource, seconds] of Object.entries(behind)) metrics.cacheBehind.set({ resource }, seconds);
}
