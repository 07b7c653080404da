/** What tests need besides KubeVirt's control plane. The simulator has all of it; a given cluster is checked for it. */
export type Need =
  /** `drover dev` started the servers, and left a record of them. */
  | 'an embedded stack'
  /** On a given cluster the worker may write only in the tests' own namespaces. */
  | 'a worker that writes in all namespaces'
  /** The labels of its nodes list the machine types that they emulate. */
  | 'machine types on nodes'
  /** VMIs can migrate between nodes. */
  | 'live migration'
  /** KubeVirt 1.7 or newer. */
  | 'evictions that can be cancelled'
  | 'three nodes that take VMs'
  /** KubeVirt migrates VMIs by itself, to change sockets and memory of those that run. */
  | 'live updates'
  /** Nothing moves VMIs off pods of an earlier KubeVirt by itself. */
  | 'VMIs that stay in outdated pods'
  /** virt-handler pauses VMIs. */
  | 'VMIs that can be paused'
  /** DataVolumes get populated. */
  | 'DataVolumes'
  /** Claims without an explicit storage class can be expanded. */
  | 'a default storage class that expands';

/** The cluster that `npm run test:cluster` was given: tests run there, and not on a stack of their own. */
export interface GivenCluster {
  /** Path of a kubeconfig with the cluster as its current context. */
  kubeconfig: string;
  /** `host:port` of a Temporal; if null, each test file starts one. */
  temporal: string | null;
  /** Id of this run, which labels everything that the run creates in the cluster. */
  run: string;
  /** The namespace of the worker's service account. */
  home: string;
  /** Pods have no kubelet, so what a test writes into them stays. */
  hasStandIn: boolean;
  lacks: Need[];
  /** Path of a file that gets a line for each skipped test. */
  skips: string;
}

const VARIABLE = 'DROVER_TEST_CLUSTER';

export const environmentOf = (given: GivenCluster): Record<string, string> => ({ [VARIABLE]: JSON.stringify(given) });

export function givenCluster(): GivenCluster | undefined {
  const text = process.env[VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as GivenCluster);
}
