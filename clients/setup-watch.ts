import { TypedSearchAttributes } from '@temporalio/common';
import { taskQueueOf, watchIdOf } from '../workflows/messages.ts';
import { DroverCluster } from '../workflows/search-attributes.ts';
import { GrpcCode, grpcCodeOf, type Temporal } from './temporal.ts';

/** Starts the workflow that watches the cluster, or leaves the one that runs. */
export async function startWatch(
  { client }: Temporal,
  cluster: string,
  dryRun: boolean,
  say: (line: string) => void,
): Promise<void> {
  const workflowId = watchIdOf(cluster);
  const found = await isRunning(client, workflowId);
  if (!found && !dryRun) {
    await client.workflow.start('watch', {
      workflowId,
      taskQueue: taskQueueOf(cluster),
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      typedSearchAttributes: new TypedSearchAttributes([{ key: DroverCluster, value: cluster }]),
      args: [{ cluster }],
    });
  }
  say(`workflow ${workflowId} ${found ? 'is running' : 'started'}`);
}

async function isRunning(client: Temporal['client'], workflowId: string): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING';
  } catch (error) {
    if (grpcCodeOf(error) === GrpcCode.NOT_FOUND || (error as Error).name === 'WorkflowNotFoundError') return false;
    throw error;
  }
}
