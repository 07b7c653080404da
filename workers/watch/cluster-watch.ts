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

interface Watched extends Omit<ServedIdentity, 'cluster'> {
  /** Into how many shards it is divided. */
  shards: number;
}

/** Thrown if the cluster is divided into another number of shards than a worker's. */
class OtherShards extends Error {
  override readonly name = 'OtherShards';

  constructor(inForce: number, own: number) {
    super(
      `the cluster is divided into ${shardsText(inForce)}, and this worker has ${shardsText(own)} (DROVER_SHARDS): ` +
        `\`drover setup --shards ${own}\` changes that`,
    );
  }
}

const shardsText = (shards: number): string => `${shards} ${shards === 1 ? 'shard' : 'shards'}`;

const asText = ({ namespace, uid }: Omit<ServedIdentity, 'cluster'>): string =>
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
    return { uid, namespace: typeof namespace === 'string' ? namespace : undefined, shards: shardsIn(memo) };
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

/** Returns the number of shards of the last run of the watch, which may have ended; undefined if there is none. */
async function lastShards(client: Client, cluster: string): Promise<number | undefined> {
  try {
    const { memo } = await client.workflow.getHandle(watchIdOf(cluster)).describe();
    return shardsIn(memo);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

const shardsIn = (memo: Record<string, unknown> | undefined): number => Number(memo?.['shards'] ?? 1);

interface EnsureOptions {
  /** Starts nothing. */
  isDry?: boolean;
  /** Into how many shards the caller takes the cluster to be divided; undefined if it leaves that as it is. */
  shards?: number | undefined;
  /** What a caller does if another number is in force. */
  ifOther?: 'Refuse' | 'Change' | 'Leave';
}

/**
 * Makes sure that the watch workflow runs and watches this cluster, or this namespace. Resolves to true if the workflow
 * was already running. Throws `ClusterNameTaken` if it watches anything else, and for a caller that refuses it if the
 * cluster is divided into another number of shards.
 */
export async function ensureWatch(
  client: Client,
  identity: ServedIdentity,
  { isDry = false, shards, ifOther = 'Leave' }: EnsureOptions = {},
): Promise<boolean> {
  const { cluster, uid } = identity;
  const running = async (): Promise<Watched | undefined> => {
    const watched = await watchedCluster(client, cluster);
    if (watched !== undefined && watched?.uid !== uid) throw new ClusterNameTaken(identity, watched);
    return watched;
  };
  const refuseOther = (inForce = shards): void => {
    if (ifOther === 'Refuse' && shards !== undefined && inForce !== shards) throw new OtherShards(inForce!, shards);
  };
  const watched = await running();
  const inForce = watched === undefined ? await lastShards(client, cluster) : watched.shards;
  refuseOther(inForce);
  const isToChange = ifOther === 'Change' && inForce !== undefined && inForce !== shards;
  if (watched !== undefined && !isToChange) return true;
  if (isDry) return false;
  await startWatch(client, identity, (isToChange ? shards : inForce) ?? shards ?? 1, isToChange);
  // The worker of something else may have been faster.
  refuseOther((await running())?.shards);
  return false;
}

/** Has the watch begin, or begin anew with another number of shards. The memo is carried over from run to run. */
async function startWatch(
  client: Client,
  { cluster, namespace, uid }: ServedIdentity,
  shards: number,
  isToChange: boolean,
): Promise<void> {
  const divided = shards === 1 ? {} : { shards };
  await client.workflow.start('watch', {
    workflowId: watchIdOf(cluster),
    taskQueue: taskQueueOf(cluster),
    workflowIdConflictPolicy: isToChange ? 'TERMINATE_EXISTING' : 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    typedSearchAttributes: new TypedSearchAttributes([{ key: DroverCluster, value: cluster }]),
    memo: { clusterUid: uid, ...(namespace === undefined ? {} : { namespace }), ...divided },
    args: [{ cluster, ...divided }],
  });
}
