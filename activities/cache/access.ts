import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from './cluster-cache.ts';

/** What activities act with: the API server, and what this worker has seen of it. */
export interface ClusterAccess {
  client: KubeClient;
  cache: ClusterCache;
}

export interface ActivityOptions extends ClusterAccess {
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
}
