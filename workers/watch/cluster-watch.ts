import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { NamespaceNotFoundError, TypedSearchAttributes } from '@temporalio/common';
import { taskQueueOf, watchIdOf } from '../../workflows/lib/messages.ts';
import { DroverCluster } from '../../workflows/lib/search-attributes.ts';
import type { WatchRun } from './put-back.ts';

/** A cluster, by drover's name for it and by the UID of its kube-system namespace. */
interface ClusterIdentity {
  cluster: string;
  uid: string;
}

/** Thrown if another cluster has this name: a worker of one must not act on what was decided for the other. */
export class ClusterNameTaken extends Error {
  override readonly name = 'ClusterNameTaken';

  constructor({ cluster, uid }: ClusterIdentity, watched: string | null) {
    const id = watchIdOf(cluster);
    const whose =
      watched === null
        ? 'does not say which cluster it watches'
        : `watches the cluster whose kube-system namespace has the UID ${watched}`;
    super(
      `this cluster (kube-system has the UID ${uid}) can't be called ${JSON.stringify(cluster)}: workflow ${id} ${whose}. ` +
        `Give one of them another name with --cluster and DROVER_CLUSTER; if the other cluster is gone, terminate ${id} in Temporal`,
    );
  }
}

/**
 * Returns the UID of the cluster that the watch of this name watches; null if the watch doesn't say so, `undefined` if
 * no watch runs.
 */
export async function watchedCluster(client: Client, cluster: string): Promise<string | null | undefined> {
  try {
    const { status, memo } = await client.workflow.getHandle(watchIdOf(cluster)).describe();
    if (status.name !== 'RUNNING') return undefined;
    const uid = memo?.['clusterUid'];
    return typeof uid === 'string' ? uid : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Returns this run of the cluster's watch, or the one that runs now; null if Temporal knows none. */
export async function watchRun(client: Client, cluster: string, runId: string | undefined): Promise<WatchRun | null> {
  try {
    const { raw, status, ...run } = await client.workflow.getHandle(watchIdOf(cluster), runId).describe();
    const { stateTransitionCount } = raw.workflowExecutionInfo ?? {};
    return { runId: run.runId, isOpen: status.name === 'RUNNING', transitions: Number(String(stateTransitionCount)) };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof NamespaceNotFoundError) return null;
    throw error;
  }
}

/**
 * Makes sure that the watch workflow runs and watches this cluster; with `isDry`, starts nothing. Resolves to true if
 * the workflow was already running. Throws `ClusterNameTaken` if it watches another cluster.
 */
export async function ensureWatch(client: Client, identity: ClusterIdentity, isDry = false): Promise<boolean> {
  const { cluster, uid } = identity;
  const isOurs = (watched: string | null | undefined): boolean => {
    if (watched !== undefined && watched !== uid) throw new ClusterNameTaken(identity, watched);
    return watched !== undefined;
  };
  if (isOurs(await watchedCluster(client, cluster))) return true;
  if (isDry) return false;
  // The memo is carried over from run to run.
  await client.workflow.start('watch', {
    workflowId: watchIdOf(cluster),
    taskQueue: taskQueueOf(cluster),
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    typedSearchAttributes: new TypedSearchAttributes([{ key: DroverCluster, value: cluster }]),
    memo: { clusterUid: uid },
    args: [{ cluster }],
  });
  // Another cluster's worker may have been faster.
  isOurs(await watchedCluster(client, cluster));
  return false;
}
