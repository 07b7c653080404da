import { DASHBOARD_SETTINGS } from './dashboard-settings.ts';
import { NAMES, type Setting } from './setting.ts';

/**
 * All settings of drover: those of commands and workers, below `worker` those
 * of workers alone, and below `dashboard` those of the dashboard. Help, docs, the chart and what checks settings are
 * made from this table.
 */
export const SETTINGS = {
  cluster: {
    what: "drover's name for the cluster: in every workflow's id and in the task queue",
    variable: 'DROVER_CLUSTER',
    flag: '--cluster',
    value: 'default',
    like: {
      pattern: /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/,
      must: 'must be at most 63 lower-case letters, digits, "-" and "."',
    },
  },
  kubeconfig: {
    what: 'the kubeconfig',
    variable: 'KUBECONFIG',
    flag: '--kubeconfig',
    without: "a running embedded stack, `~/.kube/config`, or the pod's service account",
    isPath: true,
  },
  context: {
    what: 'the context of the kubeconfig; not with `--kubeconfig` or `--state`, but for the flag',
    variable: 'DROVER_CONTEXT',
    flag: '--context',
    without: 'its current context',
  },
  'temporal.address': {
    what: "Temporal's frontend, as `host:port`",
    variable: 'TEMPORAL_ADDRESS',
    flag: '--address',
    without: "Temporal's profile, a running embedded stack, or `localhost:7233`",
  },
  'temporal.namespace': {
    what: 'the namespace in Temporal, which must exist',
    variable: 'TEMPORAL_NAMESPACE',
    flag: '--temporal-namespace',
    without: "Temporal's profile, or `default`",
  },
  'temporal.ui': {
    what: "the address of Temporal's Web UI, for links",
    variable: 'TEMPORAL_UI',
    without: 'that of a running embedded stack',
  },
  dataConverter: {
    what: 'a module that encodes what Temporal stores',
    variable: 'DROVER_DATA_CONVERTER',
    without: 'none',
    isPath: true,
  },
  requestedBy: {
    what: 'the name that `status`, history and Events show for who asks; pools take only that of a user whom you may `impersonate`',
    variable: 'DROVER_REQUESTED_BY',
    without: "the user's name in Kubernetes",
  },
  state: {
    what: 'the state folder of the embedded stack',
    variable: 'DROVER_STATE',
    flag: '--state',
    without: '`drover` in `$XDG_STATE_HOME` or `~/.local/state`',
    isPath: true,
  },
  ...DASHBOARD_SETTINGS,
  'worker.namespaces': {
    what: 'the only namespaces that the worker serves, such as `shop,bank`, with Roles instead of a ClusterRole',
    variable: 'DROVER_NAMESPACE',
    flag: '--only-namespace',
    without: 'all namespaces',
    like: NAMES,
    isList: true,
  },
  'worker.shards': {
    what: 'shards into which the namespaces are divided, for clusters that are too large for one worker; `drover setup --shards` puts another number in force',
    variable: 'DROVER_SHARDS',
    flag: '--shards',
    value: '1',
    within: [1, 64],
  },
  'worker.takes': {
    what: 'which of these the worker takes, from 0, such as `0,3`, and `cluster`: what is in no namespace, for which the worker keeps all VMs',
    variable: 'DROVER_TAKES',
    flag: '--takes',
    without: 'all',
    like: { pattern: /^(cluster|0|[1-9]\d?)$/, must: 'must be numbers of shards, or cluster' },
    isList: true,
  },
  'worker.checkAddresses': {
    what: 'URLs of Prometheus that checks of rollouts may ask, and all below these, such as `http://prometheus.monitoring:9090`',
    variable: 'DROVER_CHECK_ADDRESSES',
    flag: '--check-addresses',
    without: 'none',
    like: {
      pattern: /^https?:\/\/[^\s@?#%,]+$/,
      must: 'must be http or https URLs without a user, a query and a fragment',
    },
    isList: true,
  },
  // What deletes a part of a pool's VMs is told the names of all others: at most 1 MB for this many.
  'worker.burst': {
    what: 'VMs of one pool that are being created at once, and as many deleted; how many are updated, the maxUnavailable of the pool says',
    variable: 'DROVER_BURST',
    flag: '--burst',
    value: '250',
    within: [1, 1_000],
  },
  'worker.concurrency': {
    what: 'calls to the API server at once, for one activity',
    variable: 'DROVER_CONCURRENCY',
    flag: '--concurrency',
    value: '32',
    within: [1, 1_000],
  },
  'worker.connections': {
    what: 'connections to the API server: a quarter is for reads alone, and writes to one kind in one namespace take half at most',
    variable: 'DROVER_CONNECTIONS',
    flag: '--connections',
    value: '64',
    within: [1, 1_000],
  },
  'worker.slots': {
    what: 'activities that act, at once',
    variable: 'DROVER_SLOTS',
    flag: '--slots',
    value: '200',
    within: [1, 10_000],
  },
  'worker.waitSlots': {
    what: 'activities that only wait, at once: one for each batch, operation or transition',
    variable: 'DROVER_WAIT_SLOTS',
    flag: '--wait-slots',
    value: '5000',
    within: [1, 100_000],
  },
  'worker.cachedWorkflows': {
    what: 'workflows that are kept in memory between their turns',
    variable: 'DROVER_CACHED_WORKFLOWS',
    flag: '--cached-workflows',
    value: '300',
    within: [0, 100_000],
  },
  'worker.healthPort': {
    what: 'port of `/healthz`, `/readyz`, `/metrics` and `/config`',
    variable: 'DROVER_HEALTH_PORT',
    flag: '--health-port',
    without: 'not served; 8080 in the image',
    within: [0, 65_535],
  },
  'worker.healthAddress': {
    what: 'address of these; `::` is every address of the machine, of IPv4 and IPv6; `::` in the image',
    variable: 'DROVER_HEALTH_ADDRESS',
    flag: '--health-address',
    value: '127.0.0.1',
  },
  'worker.temporalMetricsPort': {
    what: "port, at the same address, of what Temporal's SDK measures",
    variable: 'DROVER_TEMPORAL_METRICS_PORT',
    flag: '--temporal-metrics-port',
    without: 'not served; 9090 in the image',
    within: [1, 65_535],
  },
  'worker.workflowBundle': {
    what: 'workflows that `node deploy/build.ts FOLDER` bundled ahead',
    variable: 'DROVER_WORKFLOW_BUNDLE',
    flag: '--workflow-bundle',
    without: 'bundled at start; set in the image',
    isPath: true,
  },
  'worker.logLevel': {
    what: 'trace, debug, info, warn or error; JSON lines on stderr',
    variable: 'LOG_LEVEL',
    flag: '--log-level',
    value: 'info',
    oneOf: ['trace', 'debug', 'info', 'warn', 'error'],
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** The settings, by their names. */
export const eachSetting = (): [SettingName, Setting][] => Object.entries(SETTINGS) as [SettingName, Setting][];

export const isOfWorker = (name: SettingName): boolean => name.startsWith('worker.');

export const isOfDashboard = (name: SettingName): boolean => name.startsWith('dashboard.');
