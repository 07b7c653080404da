/** What tests take beside KubeVirt's control plane. The simulator has all of it; a given cluster is looked at. */
export type Need =
  /** `drover dev` has started its servers, and left a note of them. */
  | 'an embedded stack'
  /** On a given cluster the worker writes only in namespaces of the tests' own. */
  | 'a worker that writes in all namespaces'
  /** Its nodes tell in their labels which machine types they emulate. */
  | 'machine types on nodes'
  /** Guests migrate, by which KubeVirt changes them while they run. */
  | 'live migration'
  /** DataVolumes are filled. */
  | 'DataVolumes'
  /** Claims without a storage class of their own may be expanded. */
  | 'a default storage class that expands';

/** The cluster that `npm run test:cluster` was given: its tests run there, and not on a stack of their own. */
export interface GivenCluster {
  /** Path of a kubeconfig whose current context is the cluster's. */
  kubeconfig: string;
  /** `host:port` of a Temporal; null: each test file starts one. */
  temporal: string | null;
  /** Of this run: on everything that it makes in the cluster. */
  run: string;
  /** The namespace of the worker's service account. */
  home: string;
  /** Pods have no kubelet: what a test writes into their status stays. */
  hasStandIn: boolean;
  lacks: Need[];
  /** File that gets a line for each test that was skipped. */
  skips: string;
}

const VARIABLE = 'DROVER_TEST_CLUSTER';

export const environmentOf = (given: GivenCluster): Record<string, string> => ({ [VARIABLE]: JSON.stringify(given) });

export function givenCluster(): GivenCluster | undefined {
  const text = process.env[VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as GivenCluster);
}
