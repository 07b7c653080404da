import type { KubeClient } from '../../kubernetes/client.ts';
import { clusterUidOf } from '../../kubernetes/cluster-uid.ts';
import { ClusterNameTaken, ensureWatch } from '../../workers/watch/cluster-watch.ts';
import { watchIdOf } from '../../workflows/lib/messages.ts';
import { Failure } from '../cli/failure.ts';
import type { Temporal } from '../session/temporal.ts';

export interface WatchSetup {
  kube: KubeClient;
  temporal: Temporal;
  cluster: string;
  dryRun: boolean;
  say: (line: string) => void;
}

/**
 * Starts the workflow that watches the cluster, or leaves the running one as it is. Throws `Failure` if that one
 * watches another cluster.
 */
export async function setUpWatch({ kube, temporal, cluster, dryRun, say }: WatchSetup): Promise<void> {
  try {
    const wasRunning = await ensureWatch(temporal.client, { cluster, uid: await clusterUidOf(kube) }, dryRun);
    say(`workflow ${watchIdOf(cluster)} ${wasRunning ? 'is running' : 'started'}`);
  } catch (error) {
    if (error instanceof ClusterNameTaken) throw new Failure(error.message, { cause: error });
    throw error;
  }
}
