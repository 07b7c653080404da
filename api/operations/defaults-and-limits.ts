/** Most VMs, and most namespaces, that an operation may name. */
export const MAX_NAMES = 1_000;
/** Longest change of VMs that an operation may hold, in characters. */
export const MAX_PATCH = 32_768;
/** Most VMs that the status of an operation names as failed. */
export const MAX_FAILURES_LISTED = 100;
/** Most VMs that the status names for one reason. */
export const MAX_NAMES_LISTED = 40;
/** Most reasons to wait that the status names. */
export const MAX_WAITS_LISTED = 100;
/** Most results of dry runs that the status of a change of machine types names. */
export const MAX_RESULTS_LISTED = 20;
/** Most globs by which an operation leaves VMs out. */
export const MAX_EXCLUDED = 100;

/**
 * How many VMs at once, if the operation does not say. KubeVirt migrates five at once in a cluster, and two from a node
 * (`parallelMigrationsPerCluster`, `parallelOutboundMigrationsPerNode`): drains need some of these.
 */
export const DEFAULT_AT_ONCE = {
  Restart: '5%',
  Migrate: 2,
  Start: 10,
  Stop: '100%',
  Patch: 10,
  MachineType: '5%',
} as const;
export const DEFAULT_DEADLINE = '10m';
