import { workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { taskQueueOf } from '../../workflows/lib/ids.ts';

/**
 * Replays run on a task queue of the SDK's, and a workflow that hears to which queue it belongs would move there: they
 * are given the queue of the workers that were recorded.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  Object.assign(workflowInfo(), { taskQueue: taskQueueOf('default') });
  return {};
};
