import { workflowInfo } from '@temporalio/workflow';
import { waitQueueOf, watchQueueOf } from './messages.ts';

/** Where activities run that only wait for VMs: they take no place of those that work. */
export const waitQueue = (): string => waitQueueOf(workflowInfo().taskQueue);
export const watchQueue = (): string => watchQueueOf(workflowInfo().taskQueue);
