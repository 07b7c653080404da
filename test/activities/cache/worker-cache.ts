import { onTestFinished } from 'vitest';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import type { OwnerIdOf } from '../../../activities/lib/planned.ts';
import { KubeClient } from '../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import { ownerIdOf } from '../../../workflows/lib/messages.ts';
import { chaosProxy, type Fate } from '../../integration/chaos-proxy.ts';

export interface WorkerCache {
  client: KubeClient;
  cache: ClusterCache;
  ownerIdOf: OwnerIdOf;
  /** Calls made since the test began, such as `GET /api/v1/nodes pass`. */
  calls: string[];
}

/** Of the workflow of an owner, if the cluster is called `default`. */
export const idInDefault: OwnerIdOf = (kind, ref) => ownerIdOf(kind, { cluster: 'default', ...ref });

/** A worker's caches, not yet started, behind an API server that treats each call as `fate` says. */
export async function aWorkerCache(
  kubeconfig: string,
  fate: (method: string, path: string) => Fate | Promise<Fate> = () => 'pass',
): Promise<WorkerCache> {
  const proxy = await chaosProxy(kubeconfig, fate);
  const client = new KubeClient(loadKubeConfig({ kubeconfig: proxy.kubeconfig }));
  const cache = new ClusterCache({ client });
  onTestFinished(async () => {
    await cache.stop();
    await client.close();
  });
  return { client, cache, ownerIdOf: idInDefault, calls: proxy.calls };
}
