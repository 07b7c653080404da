/** An environment variable of the worker: what it is for, and its default value, or what happens `without` it. */
export interface Variable {
  what: string;
  value?: string;
  without?: string;
}

/**
 * All of drover's own variables that a worker reads: for `config.ts`, which validates them, and for `drover worker
 * --help`.
 */
export const VARIABLES = {
  DROVER_CLUSTER: { what: "drover's name for the cluster, like --cluster", value: 'default' },
  DROVER_NAMESPACE: {
    what: 'the only namespaces that it serves, such as shop,bank, with Roles instead of a ClusterRole',
    without: 'all namespaces',
  },
  DROVER_BURST: { what: 'VMs of one pool in progress at once', value: '250' },
  DROVER_CONCURRENCY: { what: 'calls to the API server at once, for one activity', value: '32' },
  DROVER_CONNECTIONS: { what: 'connections to the API server', value: '64' },
  DROVER_SLOTS: { what: 'activities that act, at once', value: '200' },
  DROVER_WAIT_SLOTS: { what: 'activities that only wait, at once', value: '5000' },
  DROVER_CACHED_WORKFLOWS: { what: 'workflows that are kept in memory between their turns', value: '500' },
  DROVER_HEALTH_PORT: { what: 'serves /healthz, /readyz and /metrics', without: 'not at all' },
  DROVER_HEALTH_ADDRESS: { what: 'where it serves them', value: '127.0.0.1' },
  DROVER_TEMPORAL_METRICS_PORT: {
    what: "serves what Temporal's SDK measures, at the same address",
    without: 'not at all',
  },
  DROVER_WORKFLOW_BUNDLE: { what: 'file with the bundle of workflows', without: 'bundled at start' },
  DROVER_DATA_CONVERTER: { what: 'module that encodes what Temporal stores', without: 'none' },
  LOG_LEVEL: { what: 'trace, debug, info, warn or error', value: 'info' },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES;
