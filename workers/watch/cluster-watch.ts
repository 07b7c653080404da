import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { NamespaceNotFoundError, TypedSearchAttributes } from '@temporalio/common';
import { taskQueueOf, watchIdOf } from '../../workflows/lib/messages.ts';
import { DroverCluster } from '../../workflows/lib/search-attributes.ts';
import type { WatchRun } from './temporal-restored.ts';

/** What the workers of one name serve: a cluster, or one of its namespaces. */
interface ServedIdentity {
  /** The name of these workers. */
  cluster: string;
  /** The only namespace that they serve; undefined if they serve all. */
  namespace: string | undefined;
  /** UID of that namespace, or else of kube-system. */
  uid: string;
}

/** Thrown if something else has this name: its workers must not act on what was decided for the other. */
export class ClusterNameTaken extends Error {
  override readonly name = 'ClusterNameTaken';

  constructor(identity: ServedIdentity, watched: Watched | null) {
    const { cluster } = identity;
    const id = watchIdOf(cluster);
    const whose = watched === null ? 'does not say what it watches' : `watches ${asText(watched)}`;
    super(
      `${asText(identity)} can't be called ${JSON.stringify(cluster)}: workflow ${id} ${whose}. ` +
        `Give one of them another name with --cluster and DROVER_CLUSTER; if the other is gone, terminate ${id} in Temporal`,
    );
  }
}

type Watched = Omit<ServedIdentity, 'cluster'>;

const asText = ({ namespace, uid }: Watched): string =>
  namespace === undefined
    ? `the cluster whose kube-system namespace has the UID ${uid}`
    : `namespace ${namespace} with the UID ${uid} alone`;

/** Returns what the watch of this name watches; null if the watch doesn't say so, `undefined` if no watch runs. */
export async function watchedCluster(client: Client, cluster: string): Promise<Watched | null | undefined> {
  try {
    const { status, memo } = await client.workflow.getHandle(watchIdOf(cluster)).describe();
    if (status.name !== 'RUNNING') return undefined;
    const { clusterUid: uid, namespace } = memo ?? {};
    if (typeof uid !== 'string') return null;
    return { uid, namespace: typeof namespace === 'string' ? namespace : undefined };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Returns this run of the cluster's watch, or the current run; null if Temporal knows none. */
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

/** Ends the watch of a deleted namespace, so that a new namespace of its name can have another. */
export async function endWatchOf(client: Client, { cluster, uid }: Omit<ServedIdentity, 'namespace'>): Promise<void> {
  if ((await watchedCluster(client, cluster))?.uid !== uid) return;
  await client.workflow.getHandle(watchIdOf(cluster)).terminate('its namespace was deleted and made again');
}

/**
 * Makes sure that the watch workflow runs and watches this cluster, or this namespace; with `isDry`, starts nothing.
 * Resolves to true if the workflow was already running. Throws `ClusterNameTaken` if it watches anything else.
 */
export async function ensureWatch(
  client: Client,
  identity: ServedIdentity,
  { isDry = false }: { isDry?: boolean } = {},
): Promise<boolean> {
  const { cluster, namespace, uid } = identity;
  const isOwn = (watched: Watched | null | undefined): boolean => {
    if (watched !== undefined && watched?.uid !== uid) throw new ClusterNameTaken(identity, watched);
    return watched !== undefined;
  };
  if (isOwn(await watchedCluster(client, cluster))) return true;
  if (isDry) return false;
  // The memo is carried over from run to run.
  await client.workflow.start('watch', {
    workflowId: watchIdOf(cluster),
    taskQueue: taskQueueOf(cluster),
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    typedSearchAttributes: new TypedSearchAttributes([{ key: DroverCluster, value: cluster }]),
    memo: { clusterUid: uid, ...(namespace === undefined ? {} : { namespace }) },
    args: [{ cluster }],
  });
  // The worker of something else may have been faster.
  isOwn(await watchedCluster(client, cluster));
  return false;
}
