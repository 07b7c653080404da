import type { Logger } from '@temporalio/worker';
import { ClusterCache } from '../activities/cache/cluster-cache.ts';
import { offWithout } from '../activities/cache/optional-kinds.ts';
import { VirtualMachinePools } from '../api/resources.ts';
import type { VmiView } from '../decisions/views/vmi.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { whyLost } from './health/health-of.ts';
import type { Metrics } from './metrics/metrics.ts';

interface CacheOptions {
  client: KubeClient;
  namespace: string | undefined;
  /** Which namespaces are this worker's to act in; undefined if all are. */
  takes: ((namespace: string) => boolean) | undefined;
  /** Whether objects of other namespaces are kept as well. */
  keepsAll: boolean;
  logger: Logger;
  metrics: Metrics;
  /** Whether this worker watches a namespace for all workers: it alone reports what happens to objects there. */
  isWatching: (namespace: string) => boolean;
}

/** Returns a cache of a cluster, or of some of its namespaces, that tells in log and metrics how it fares. */
export function createClusterCache({ client, logger, metrics, isWatching, ...options }: CacheOptions): ClusterCache {
  const { namespace, takes, keepsAll } = options;
  const cache: ClusterCache = new ClusterCache({
    client,
    namespace,
    takes,
    keeps: keepsAll ? undefined : takes,
    onError: (resource, error) => {
      metrics.watchErrors.inc({ resource });
      logger.warn('a watch failed and is restarted', { resource, error: error.message });
    },
    onContact: (isLost) => {
      metrics.serverLost.set(isLost ? 1 : 0);
      if (isLost)
        logger.error(`${whyLost(cache)}: this worker takes no more work until it does`, {
          server: client.server,
        });
      else logger.info('the API server answers again', { server: client.server });
    },
    onRestored: () => logger.warn('the API server was restored from a backup: everything is listed anew'),
    onMissing: (resource, message) => {
      if (message === null)
        logger.info('a function that was off is on again', { on: offWithout(resource), resource: resource.plural });
      else
        logger.warn('a kind of object cannot be listed: a function is off', {
          off: formatMissing({ resource, message }),
        });
    },
    onMissed: (resource, count) => metrics.missedEvents.inc({ resource }, count),
    onVmiFailed: ({ namespace }) => isWatching(namespace) && metrics.failedVmis.inc({ namespace }),
  });
  cache.subscribe((change) => {
    if (change.kind === 'vmi')
      metrics.vms.change(
        change,
        (vmi) => poolOf(vmi, cache),
        cache.vmis.synced && isWatching((change.after ?? change.before)!.namespace),
      );
  });
  return cache;
}

function poolOf(vmi: VmiView, cache: ClusterCache): { namespace: string; pool: string } | null {
  const vm = cache.vms.get(`${vmi.namespace}/${vmi.name}`);
  return vm?.owner?.kind === VirtualMachinePools.kind && vm.uid === vmi.vmUid
    ? { namespace: vm.namespace, pool: vm.owner.name }
    : null;
}

/** What is off without a kind of object, and why. */
export const formatMissing = ({ resource, message }: ClusterCache['missing'][number]): string =>
  `${offWithout(resource)} (${resource.plural}: ${message})`;
