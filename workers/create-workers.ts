import type { Worker, WorkerOptions } from '@temporalio/worker';
import type { Portion } from '../decisions/shards/portion.ts';
import packageJson from '../package.json' with { type: 'json' };
import { taskQueueOf, waitQueueOf, watchQueueOf } from '../workflows/lib/messages.ts';
import type { createActivities } from './activities.ts';
import type { WorkerConfig } from './config.ts';
import type { TemporalConnection } from './connection/temporal-connection.ts';
import { ReplayingWorker } from './replaying-worker.ts';

/** Longer than any one call to the API server, so that a worker that shuts down finishes what it has begun. */
const GRACE = '35s';
/** A queue has one watch; more slots are for successors of a watch that was just given up. */
const WATCHES = 4;

/** How the process reaches Temporal, and what it runs there. */
export interface TemporalOptions extends Pick<WorkerOptions, 'dataConverter'> {
  connection: TemporalConnection;
  workflowBundle: NonNullable<WorkerOptions['workflowBundle']>;
}

export const clientOptions = ({ connection, dataConverter }: TemporalOptions) => ({
  namespace: connection.namespace,
  ...(dataConverter === undefined ? {} : { dataConverter }),
});

/** Creates a worker for each of the task queues of a portion. */
export function createWorkers(
  { cluster, portions, cachedWorkflows, slots, waitSlots }: WorkerConfig,
  portion: Portion,
  temporal: TemporalOptions,
  activities: ReturnType<typeof createActivities>,
): Promise<Worker>[] {
  const common = {
    ...clientOptions(temporal),
    shutdownGraceTime: GRACE,
    maxHeartbeatThrottleInterval: '3s',
    // What another release has written, and this one can't continue, begins anew from the objects in Kubernetes.
    workflowFailureErrorTypes: { '*': ['NondeterminismError'] },
    // By the length of the queues that Temporal reports: few long polls while little happens, and many when it is busy.
    workflowTaskPollerBehavior: { type: 'autoscaling' },
    activityTaskPollerBehavior: { type: 'autoscaling' },
    // Tells `drover version` and the Web UI which release polls, and changes nothing about who gets which task.
    workerDeploymentOptions: {
      useWorkerVersioning: false,
      version: { deploymentName: `drover-${cluster.replaceAll('.', '-')}`, buildId: packageJson.version },
    },
  } satisfies Partial<WorkerOptions>;
  const queue = taskQueueOf(cluster, portion);
  const create = (options: WorkerOptions): Promise<Worker> =>
    temporal.connection.serve((connection) => ReplayingWorker.create({ ...options, connection }));
  return [
    create({
      ...common,
      taskQueue: queue,
      workflowBundle: temporal.workflowBundle,
      activities: activities.working,
      maxCachedWorkflows: Math.ceil(cachedWorkflows / portions.length),
      maxConcurrentActivityTaskExecutions: slots,
      // A dead worker delays a workflow's next task by no more than this.
      stickyQueueScheduleToStartTimeout: '3s',
    }),
    // Waits cost next to nothing and last long: none of them takes the slot of an activity that acts.
    create({
      ...common,
      taskQueue: waitQueueOf(queue),
      activities: activities.waiting,
      maxConcurrentActivityTaskExecutions: waitSlots,
    }),
    create({
      ...common,
      taskQueue: watchQueueOf(queue),
      activities: activities.watching,
      maxConcurrentActivityTaskExecutions: WATCHES,
    }),
  ];
}
