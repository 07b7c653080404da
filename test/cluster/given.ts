import type { Need } from './needs.ts';

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
