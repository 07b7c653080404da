import { graph, inCluster, list, row, stat, type Panel } from './panels.ts';

const COLUMNS = 24;
const HEIGHTS: Record<Panel['type'], number> = { row: 1, stat: 4, timeseries: 8, table: 8 };

/** Of a panel or a variable; a panel's queries are for that of the panel. */
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;

/** Those that are chosen above the dashboard. Sets are chosen by their namespace. */
const POOL = 'namespace=~"$namespace", pool=~"$pool"';
const SET = 'namespace=~"$namespace"';
/** Other programs measure these, too. */
const QUEUES = 'task_queue=~"drover/.*"';
const OF_WORKERS = 'and on (cluster, job, instance) drover_build_info';

/** For a moment, two workers report the same pools and sets: one that watches, and one that did. */
const ofPools = (metric: string, more = ''): string => `max by (namespace, pool) (${metric}{${POOL}${more}})`;

const PANELS: Panel[] = [
  row('Now'),
  stat(
    'Watching',
    'Workers that watch the cluster: 1, or changes are not seen.',
    'sum(drover_watch_running) or vector(0)',
    {
      bad: 1,
      from: 'below',
    },
  ),
  stat('Workers', 'Workers by release.', 'count by (version) (drover_build_info)', { legend: '{{version}}' }),
  stat('API server unreachable', 'Workers that the API server does not answer.', 'sum(drover_api_server_unreachable)', {
    bad: 1,
  }),
  stat(
    'VMs not available',
    'VMs that pools want and that are not available.',
    `sum(${ofPools('drover_pool_unavailable_vms')})`,
    {
      bad: 1,
    },
  ),
  stat('Pools that need help', 'Pools with the condition Stalled.', `count(${ofPools('drover_pool_stalled')} == 1)`, {
    bad: 1,
  }),
  stat('VMs given up', 'Unhealthy VMs that are no longer replaced.', `sum(${ofPools('drover_healing_given_up')})`, {
    bad: 1,
  }),

  row('Pools and sets'),
  list('Pools short of VMs', 'VMs that are missing or not available.', `${ofPools('drover_pool_unavailable_vms')} > 0`),
  list(
    'Pools that need help',
    'The condition Stalled: a pool that does not continue by itself.',
    `max by (namespace, pool, reason) (drover_pool_stalled{${POOL}}) == 1`,
  ),
  list(
    'Sets with a problem',
    'Conditions of sets that report a problem.',
    `max by (namespace, kind, set, type, reason) (drover_replica_set_problem{${SET}}) == 1`,
  ),
  graph('VMs of pools', 'All pools that are chosen above.', {
    wanted: `sum(${ofPools('drover_pool_desired_vms')})`,
    available: `sum(${ofPools('drover_pool_available_vms')})`,
    ready: `sum(${ofPools('drover_pool_ready_vms')})`,
    standby: `sum(${ofPools('drover_pool_standby_vms')})`,
  }),
  graph('Replicas of sets', 'All sets of the namespaces that are chosen above.', {
    wanted: `sum(max by (namespace, kind, set) (drover_replica_set_desired_replicas{${SET}}))`,
    available: `sum(max by (namespace, kind, set) (drover_replica_set_available_replicas{${SET}}))`,
  }),
  graph('Starts and stops of VMs', 'By the hour.', {
    'starts of {{namespace}}/{{pool}}': `max by (namespace, pool) (increase(drover_vm_starts_total{${POOL}}[1h])) > 0`,
    'stops of {{namespace}}/{{pool}}': `max by (namespace, pool) (increase(drover_vm_stops_total{${POOL}}[1h])) > 0`,
  }),

  row('Rollouts'),
  graph(
    'Pools by state of their rollout',
    'The reason of the condition Progressing, without complete rollouts.',
    {
      '{{state}}': `count by (state) (max by (namespace, pool, state) (drover_pool_rollout{${POOL}, state!="Complete"}) == 1)`,
    },
    { stacked: true },
  ),
  graph('VMs of an earlier revision', 'VMs that do not have the newest template of their pool.', {
    '{{namespace}}/{{pool}}': `${ofPools('drover_pool_current_vms')} - ${ofPools('drover_pool_updated_vms')} > 0`,
  }),
  graph(
    'Disruption budget in use',
    'Of the pools that roll out: unavailable VMs, as a share of the VMs that may be unavailable.',
    {
      '{{namespace}}/{{pool}}': `${ofPools('drover_pool_unavailable_vms')} / (${ofPools('drover_pool_max_unavailable_vms')} > 0) and on (namespace, pool) drover_pool_rollout{${POOL}, state="RollingOut"} == 1`,
    },
    { unit: 'percentunit' },
  ),
  graph(
    'Handover',
    'From a VM that is ready again until the next one goes down, in all pools: half of them, and 19 of 20.',
    {
      half: `histogram_quantile(0.5, sum by (le) (rate(drover_rollout_handover_seconds_bucket[$__rate_interval])))`,
      '19 of 20': `histogram_quantile(0.95, sum by (le) (rate(drover_rollout_handover_seconds_bucket[$__rate_interval])))`,
    },
    { unit: 's' },
  ),
  list(
    'Rollouts that wait, or have stopped',
    'Rollouts that need a user.',
    `max by (namespace, pool, state) (drover_pool_rollout{${POOL}, state=~"WaitingForApproval|Paused|Aborted|UpdateFailed|Failed|Undoing|Undone|UndoFailed|ProgressDeadlineExceeded|Stuck"}) == 1`,
  ),

  row('Healing and drains'),
  graph(
    'VMs that are being replaced',
    'Unhealthy VMs by the phase of their replacement.',
    { '{{phase}}': `sum by (phase) (max by (namespace, pool, phase) (drover_healing_cycles{${POOL}}))` },
    { stacked: true },
  ),
  list(
    'Pools that are not healed',
    'Too many VMs are unhealthy at once, or a user has paused healing.',
    `max by (namespace, pool, reason) (drover_healing_suspended{${POOL}}) == 1`,
  ),
  graph(
    'VMs that are to leave drained nodes',
    'By what they wait for.',
    { '{{reason}}': `sum by (reason) (max by (namespace, pool, reason) (drover_pool_draining_vms{${POOL}}))` },
    { stacked: true },
  ),

  row('Operations'),
  graph(
    'Operations by state',
    'Operations that have not been deleted, without complete ones.',
    {
      '{{action}}: {{state}}': `sum by (action, state) (max by (namespace, action, state) (drover_operations{${SET}, state!="Complete"}))`,
    },
    { stacked: true },
  ),
  graph(
    'VMs of operations that go on',
    'By their outcome so far.',
    { '{{state}}': `sum by (state) (max by (namespace, action, state) (drover_operation_vms{${SET}}))` },
    { stacked: true },
  ),
  list(
    'Schedules with a problem',
    'Schedules that can make no operation, or whose last one has failed or was missed.',
    `max by (namespace, schedule, type, reason) (drover_schedule_problem{${SET}}) == 1`,
  ),

  row('Boots'),
  graph(
    'Time until VMs run',
    'From the creation of a VMI to the phase Running: half of those of all pools, 19 of 20, and the mean of each pool.',
    {
      half: `histogram_quantile(0.5, sum by (le) (rate(drover_vmi_phase_transition_from_creation_seconds_bucket{phase="Running"}[1h])))`,
      '19 of 20': `histogram_quantile(0.95, sum by (le) (rate(drover_vmi_phase_transition_from_creation_seconds_bucket{phase="Running"}[1h])))`,
      '{{namespace}}/{{pool}}': `max by (namespace, pool) (increase(drover_vm_start_seconds_total{${POOL}}[1h]) / increase(drover_vm_starts_total{${POOL}}[1h])) > 0`,
    },
    { unit: 's', width: 24 },
  ),

  row('Requests to the API server'),
  graph(
    'Requests',
    'A second, by verb and resource.',
    { '{{verb}} {{resource}}': 'sum by (verb, resource) (rate(drover_kube_request_seconds_count[$__rate_interval]))' },
    { unit: 'reqps' },
  ),
  graph(
    'Refused requests',
    'A second, by code; "none" if no answer came. Conflicts (409) and missing objects (404) are normal.',
    {
      '{{code}} {{verb}} {{resource}}':
        'sum by (verb, resource, code) (rate(drover_kube_request_seconds_count{code!~"2.."}[$__rate_interval])) > 0',
    },
    { unit: 'reqps' },
  ),
  graph(
    'Latency',
    '99 of 100 requests are answered within this; for a watch, until its answer begins.',
    {
      '{{verb}}':
        'histogram_quantile(0.99, sum by (verb, le) (rate(drover_kube_request_seconds_bucket[$__rate_interval])))',
    },
    { unit: 's' },
  ),
  graph('Requests in flight', 'Of the worker that has the most.', { requests: 'max(drover_kube_in_flight)' }),
  graph(
    'Cache behind',
    'For how long a worker has failed to follow a resource.',
    { '{{resource}}': 'max by (resource) (drover_cache_behind_seconds) > 0' },
    { unit: 's' },
  ),
  graph('Watches that broke', 'In 10 minutes, by resource.', {
    '{{resource}}': 'sum by (resource) (increase(drover_watch_errors_total[10m])) > 0',
  }),
  graph('Objects in the cache', 'By resource, of one worker.', {
    '{{resource}}': 'max by (resource) (drover_cached_objects)',
  }),

  row('Temporal and workers'),
  graph('Workflow tasks that failed', 'In 10 minutes, by type: such a workflow is stuck until its task succeeds.', {
    '{{workflow_type}}': `sum by (workflow_type) (increase(temporal_workflow_task_execution_failed{${QUEUES}}[10m]))`,
  }),
  graph(
    'Wait of workflow tasks for a worker',
    'From schedule to start, 19 of 20, in milliseconds.',
    {
      '{{task_queue}}': `histogram_quantile(0.95, sum by (task_queue, le) (rate(temporal_workflow_task_schedule_to_start_latency_bucket{${QUEUES}}[$__rate_interval])))`,
    },
    { unit: 'ms' },
  ),
  graph(
    'Delay of signals',
    'From a change in the cluster until Temporal has the signal, 19 of 20.',
    {
      '{{kind}}':
        'histogram_quantile(0.95, sum by (kind, le) (rate(drover_signal_delay_seconds_bucket[$__rate_interval])))',
    },
    { unit: 's' },
  ),
  graph(
    'Plans',
    'How long decisions about a pool or a set take, 19 of 20.',
    {
      '{{kind}}': 'histogram_quantile(0.95, sum by (kind, le) (rate(drover_plan_seconds_bucket[$__rate_interval])))',
    },
    { unit: 's' },
  ),
  graph('Signals that did not reach Temporal', 'In 10 minutes.', {
    failed: 'sum(increase(drover_failed_signals_total[10m]))',
  }),
  graph('Free slots', 'Of the workers that have the fewest, by task queue and kind of task.', {
    '{{task_queue}} {{worker_type}}': `min by (task_queue, worker_type) (temporal_worker_task_slots_available{${QUEUES}})`,
  }),
  graph('Workflows in memory', 'Of the worker that has the most; workflows that it drops are replayed later.', {
    workflows: `max(temporal_sticky_cache_size{${QUEUES}})`,
  }),
  graph(
    'Event loop',
    'How late the busiest worker is, 99 of 100 times.',
    { lag: `max(nodejs_eventloop_lag_p99_seconds ${OF_WORKERS})` },
    { unit: 's' },
  ),
  graph(
    'Memory',
    'Resident, of the largest worker.',
    { memory: `max(process_resident_memory_bytes ${OF_WORKERS})` },
    { unit: 'bytes' },
  ),
];

/** Puts panels side by side as long as they fit. */
function laidOut(panels: Panel[]): object[] {
  let [x, y, height] = [0, 0, 0];
  return panels.map(({ width = COLUMNS, ...panel }, index) => {
    if (x + width > COLUMNS) [x, y, height] = [0, y + height, 0];
    const gridPos = { x, y, w: width, h: HEIGHTS[panel.type] };
    x += width;
    height = Math.max(height, gridPos.h);
    return { id: index + 1, ...panel, ...(panel.type === 'row' ? {} : { datasource: DATASOURCE }), gridPos };
  });
}

/** A variable with the values of a label, all of them by default; or one of them. */
const variable = (name: string, label: string, query: string, isMulti = true): object => ({
  name,
  label,
  type: 'query',
  datasource: DATASOURCE,
  query: { query, refId: name },
  definition: query,
  refresh: 2,
  sort: 1,
  ...(isMulti
    ? { multi: true, includeAll: true, allValue: '.*', current: { text: 'All', value: '$__all' } }
    : { multi: false, includeAll: false }),
});

/** The dashboard for Grafana 10 and newer: what a user on call looks at, from top to bottom. */
export const dashboard = (): object => ({
  uid: 'drover',
  title: 'drover',
  tags: ['drover', 'kubevirt'],
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-3h', to: 'now' },
  templating: {
    list: [
      { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
      variable('cluster', 'Cluster', 'label_values(drover_build_info, cluster)', false),
      variable('namespace', 'Namespace', inCluster('label_values(drover_pool_desired_vms, namespace)')),
      variable('pool', 'Pool', inCluster('label_values(drover_pool_desired_vms{namespace=~"$namespace"}, pool)')),
    ],
  },
  annotations: { list: [] },
  panels: laidOut(PANELS),
});
