import {
  ActivityCancellationType,
  proxyActivities,
  workflowInfo,
  type ActivityInterfaceFor,
  type UntypedActivities,
} from '@temporalio/workflow';
import { waitQueueOf, watchQueueOf } from './messages.ts';

export const watchQueue = (): string => watchQueueOf(workflowInfo().taskQueue);

/**
 * Activities that only wait for VMs. Their task queue is one of its own, so that they take no slots of those that work.
 * `heartbeatTimeout`: how long a wait may be lost with its worker.
 */
export const waitingActivities = <A = UntypedActivities>(heartbeatTimeout: '10s' | '20s'): ActivityInterfaceFor<A> =>
  proxyActivities<A>({
    taskQueue: waitQueueOf(workflowInfo().taskQueue),
    startToCloseTimeout: '24h',
    heartbeatTimeout,
    retry: { initialInterval: '200ms', maximumInterval: '10s' },
    // They change nothing, so a cancellation need not wait for their end.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
  });
