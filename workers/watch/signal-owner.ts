import {
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { changed, poolIdOf, replicaSetIdOf, taskQueueOf, type PoolRef } from '../../workflows/messages.ts';
import type { pool } from '../../workflows/pool/pool.ts';
import type { replicaSet } from '../../workflows/replica-sets/replica-set.ts';
import { DroverCluster, DroverNamespace, DroverPool, DroverReplicaSet } from '../../workflows/search-attributes.ts';

const SINGLETON = {
  workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
} as const;

/** Signals the pool's workflow to look again, and starts the workflow if it isn't running. */
export async function notifyPool(client: Client, ref: PoolRef, seen: ResourceVersions): Promise<void> {
  await client.workflow.signalWithStart<typeof pool, [ResourceVersions?]>('pool', {
    ...SINGLETON,
    workflowId: poolIdOf(ref),
    taskQueue: taskQueueOf(ref.cluster),
    args: [ref],
    signal: changed,
    signalArgs: [seen],
    staticSummary: `Pool ${ref.namespace}/${ref.name}`,
    staticDetails: `Keeps the VMs of pool **${ref.name}** in namespace **${ref.namespace}** of cluster **${ref.cluster}** as its spec says.`,
    typedSearchAttributes: [
      { key: DroverCluster, value: ref.cluster },
      { key: DroverNamespace, value: ref.namespace },
      { key: DroverPool, value: ref.name },
    ],
  });
}

/** Does the same for the workflow of a replica set. */
export async function notifyReplicaSet(client: Client, ref: PoolRef, seen: ResourceVersions): Promise<void> {
  await client.workflow.signalWithStart<typeof replicaSet, [ResourceVersions?]>('replicaSet', {
    ...SINGLETON,
    workflowId: replicaSetIdOf(ref),
    taskQueue: taskQueueOf(ref.cluster),
    args: [ref],
    signal: changed,
    signalArgs: [seen],
    staticSummary: `Replica set ${ref.namespace}/${ref.name}`,
    staticDetails: `Keeps the VMs of replica set **${ref.name}** in namespace **${ref.namespace}** of cluster **${ref.cluster}** at its number, and never above it.`,
    typedSearchAttributes: [
      { key: DroverCluster, value: ref.cluster },
      { key: DroverNamespace, value: ref.namespace },
      { key: DroverReplicaSet, value: ref.name },
    ],
  });
}

/** Returns what signals the workflow of a deleted pool or set, so that it ends; it starts none. */
export const tellGoneTo =
  (idOf: (ref: PoolRef) => string) =>
  async (client: Client, ref: PoolRef, seen: ResourceVersions): Promise<void> => {
    try {
      await client.workflow.getHandle(idOf(ref)).signal(changed, seen);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  };
