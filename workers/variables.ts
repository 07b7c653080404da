/** An environment variable of the worker: what it is for, and its default value, or what happens `without` it. */
export interface Variable {
  what: string;
  value?: string;
  without?: string;
  /** The least and the greatest whole number that it may be. */
  within?: readonly [least: number, most: number];
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
  // What deletes a part of a pool's VMs is told the names of all others: at most 1 MB for this many.
  DROVER_BURST: { what: 'VMs of one pool in progress at once', value: '250', within: [1, 1_000] },
  DROVER_CONCURRENCY: { what: 'calls to the API server at once, for one activity', value: '32', within: [1, 1_000] },
  DROVER_CONNECTIONS: { what: 'connections to the API server', value: '64', within: [1, 1_000] },
  DROVER_SLOTS: { what: 'activities that act, at once', value: '200', within: [1, 10_000] },
  DROVER_WAIT_SLOTS: { what: 'activities that only wait, at once', value: '5000', within: [1, 100_000] },
  DROVER_CACHED_WORKFLOWS: {
    what: 'workflows that are kept in memory between their turns',
    value: '500',
    within: [0, 100_000],
  },
  DROVER_HEALTH_PORT: { what: 'serves /healthz, /readyz and /metrics', without: 'not at all', within: [0, 65_535] },
  DROVER_HEALTH_ADDRESS: { what: 'where it serves them', value: '127.0.0.1' },
  DROVER_TEMPORAL_METRICS_PORT: {
    what: "serves what Temporal's SDK measures, at the same address",
    without: 'not at all',
    within: [1, 65_535],
  },
  DROVER_WEBHOOKS: { what: 'file that says who is told what users are to know of', without: 'nobody' },
  DROVER_WORKFLOW_BUNDLE: { what: 'file with the bundle of workflows', without: 'bundled at start' },
  DROVER_DATA_CONVERTER: { what: 'module that encodes what Temporal stores', without: 'none' },
  LOG_LEVEL: { what: 'trace, debug, info, warn or error', value: 'info' },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES;
