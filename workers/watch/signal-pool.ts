import {
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { changed, poolIdOf, taskQueueOf, type PoolRef } from '../../workflows/messages.ts';
import type { pool } from '../../workflows/pool/pool.ts';
import { DroverCluster, DroverNamespace, DroverPool } from '../../workflows/search-attributes.ts';

/** Signals the pool's workflow to look again, and starts the workflow if it isn't running. */
export async function notifyPool(client: Client, ref: PoolRef, seen: ResourceVersions): Promise<void> {
  await client.workflow.signalWithStart<typeof pool, [ResourceVersions?]>('pool', {
    workflowId: poolIdOf(ref),
    taskQueue: taskQueueOf(ref.cluster),
    args: [ref],
    signal: changed,
    signalArgs: [seen],
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    staticSummary: `Pool ${ref.namespace}/${ref.name}`,
    staticDetails: `Keeps the VMs of pool **${ref.name}** in namespace **${ref.namespace}** of cluster **${ref.cluster}** as its spec says.`,
    typedSearchAttributes: [
      { key: DroverCluster, value: ref.cluster },
      { key: DroverNamespace, value: ref.namespace },
      { key: DroverPool, value: ref.name },
    ],
  });
}

/** Signals the workflow of a deleted pool, so that it ends; starts none. */
export async function tellGone(client: Client, ref: PoolRef, seen: ResourceVersions): Promise<void> {
  try {
    await client.workflow.getHandle(poolIdOf(ref)).signal(changed, seen);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
