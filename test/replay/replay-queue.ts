import { workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** The task queue of the workers that were recorded. */
const QUEUE = 'drover/default';

/** Replays run on a task queue of the SDK's, and a workflow that hears to which one it belongs would move there. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  Object.assign(workflowInfo(), { taskQueue: QUEUE });
  return {};
};
