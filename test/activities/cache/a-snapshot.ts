import { onTestFinished } from 'vitest';
import { Fleet } from '../../../activities/cache/cluster-cache.ts';
import { KubeClient } from '../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import { chaosProxy, type Fate } from '../../integration/chaos-proxy.ts';

export interface Picture {
  client: KubeClient;
  fleet: Fleet;
  /** Calls that were made since the test began, such as `GET /api/v1/nodes pass`. */
  calls: string[];
}

/** A worker's caches, which have not begun, behind a server that does with each call what `fate` says. */
export async function aPicture(
  kubeconfig: string,
  fate: (method: string, path: string) => Fate | Promise<Fate> = () => 'pass',
): Promise<Picture> {
  const proxy = await chaosProxy(kubeconfig, fate);
  const client = new KubeClient(loadKubeConfig({ kubeconfig: proxy.kubeconfig }));
  const fleet = new Fleet({ client });
  onTestFinished(async () => {
    await fleet.stop();
    await client.close();
  });
  return { client, fleet, calls: proxy.calls };
}
