import type { ActivityInterceptorsFactory, WorkerOptions } from '@temporalio/worker';
import type { ClusterCache } from '../../activities/cache/cluster-cache.ts';
import { CommandTraces, type Signalled } from './command-traces.ts';
import { asSpan, type Tracer } from './tracing.ts';

export interface FollowedTraces {
  interceptors: NonNullable<WorkerOptions['interceptors']>;
  /** Writes a span for a signal to the workflow of an object that a traced command has written. */
  signalled: (signal: Signalled & { seconds: number | undefined }) => void;
}

/** Whether what is told of an object is news, and not the first list of all. */
const areListed = ({ caches }: ClusterCache): boolean =>
  Object.values(caches).every(({ synced, missing }) => synced || missing !== null);

/** Writes a span for each activity of a workflow that acts for a traced command. */
const tracedActivities =
  (tracer: Tracer, traces: CommandTraces): ActivityInterceptorsFactory =>
  ({ info }) => {
    const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
    const parent = traces.of(workflowId);
    if (parent === undefined) return {};
    const start = {
      name: `activity ${info.activityType}`,
      kind: 'consumer',
      parent,
      attributes: {
        'temporal.workflow.id': workflowId,
        'temporal.workflow.run_id': runId,
        'temporal.activity.attempt': info.attempt,
        'temporal.task_queue': info.taskQueue,
      },
    } as const;
    return { inbound: { execute: (input, next) => asSpan(tracer, start, () => next(input)) } };
  };

/** Has workers write spans for what they do for traced commands, which they know by the objects in the cache. */
export function followTraces(tracer: Tracer, cache: ClusterCache, cluster: string): FollowedTraces {
  const traces = new CommandTraces(cluster);
  cache.subscribe((change) => traces.hear(change, () => areListed(cache)));
  return {
    interceptors: { activity: [tracedActivities(tracer, traces)] },
    signalled: ({ seconds = 0, ...object }) => {
      const workflowId = traces.idOf(object);
      const parent = traces.of(workflowId);
      if (parent === undefined) return;
      const at = Date.now() - seconds * 1_000;
      const attributes = { 'temporal.workflow.id': workflowId };
      tracer.begin({ name: `signal workflow ${workflowId}`, kind: 'producer', parent, at, attributes }).end();
    },
  };
}
