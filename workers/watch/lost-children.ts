import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { ChildSignals, LostChild } from '../../activities/watch/lost-children.ts';
import { childLost, poolOfChild } from '../../workflows/lib/messages.ts';

/** How the workflows of pools hear that a batch or an attempt was ended from outside. */
export const childSignals: ChildSignals = {
  async lost(client: Client, cluster: string, since: number): Promise<LostChild[]> {
    const query = [
      `WorkflowType IN ('updateBatch', 'healVm')`,
      `DroverCluster = '${cluster}'`,
      `ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut', 'Canceled')`,
      `CloseTime > '${new Date(since).toISOString()}'`,
    ].join(' AND ');
    const lost: LostChild[] = [];
    for await (const { workflowId, runId, closeTime } of client.workflow.list({ query }))
      lost.push({ workflowId, runId, endedAt: closeTime?.getTime() ?? Date.now() });
    return lost;
  },

  async tell(client: Client, { workflowId, endedAt }: LostChild): Promise<void> {
    try {
      await client.workflow.getHandle(poolOfChild(workflowId)).signal(childLost, { workflowId, endedAt });
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  },
};
