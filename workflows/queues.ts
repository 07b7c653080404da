import { workflowInfo } from '@temporalio/workflow';
import { waitQueueOf, watchQueueOf } from './messages.ts';

/** The task queue of activities that only wait for VMs, so that they take no slots of those that work. */
export const waitQueue = (): string => waitQueueOf(workflowInfo().taskQueue);
export const watchQueue = (): string => watchQueueOf(workflowInfo().taskQueue);
