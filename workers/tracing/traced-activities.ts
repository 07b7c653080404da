import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { CommandTraces } from './command-traces.ts';
import { asSpan, type Tracer } from './tracing.ts';

/** Writes a span for each activity of a workflow that acts for a traced command. */
export const tracedActivities =
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
