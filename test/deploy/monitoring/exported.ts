import { createMetrics } from '../../../workers/metrics/metrics.ts';

/** Labels that Prometheus gives to all series of a target, and the worker to all of its own. */
export const TARGET_LABELS = ['job', 'instance', 'pod', 'cluster'];

const OF_QUEUE = ['namespace', 'service_name', 'task_queue'];

/** The metrics of Temporal's SDK that alerts and the dashboard use, with their labels. */
export const SDK_METRICS: Readonly<Record<string, readonly string[]>> = {
  temporal_workflow_task_execution_failed: [...OF_QUEUE, 'workflow_type', 'failure_reason'],
  temporal_workflow_failed: [...OF_QUEUE, 'workflow_type'],
  temporal_workflow_task_schedule_to_start_latency_bucket: [...OF_QUEUE, 'le'],
  temporal_sticky_cache_size: OF_QUEUE,
  temporal_worker_task_slots_available: [...OF_QUEUE, 'worker_type'],
};

/** Returns the series that workers export, by name: each with its labels. */
export function exportedSeries(): Map<string, readonly string[]> {
  const own = createMetrics('default')
    .registry.getMetricsAsArray()
    .map((metric) => metric as unknown as { name: string; labelNames: string[]; buckets?: unknown });
  return new Map([
    ...own.flatMap(({ name, labelNames, buckets }): [string, string[]][] =>
      buckets === undefined
        ? [[name, labelNames]]
        : [
            [`${name}_bucket`, [...labelNames, 'le']],
            [`${name}_sum`, labelNames],
            [`${name}_count`, labelNames],
          ],
    ),
    ...Object.entries(SDK_METRICS),
  ]);
}
