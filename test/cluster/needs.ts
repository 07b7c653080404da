import { givenCluster } from './given.ts';
import { skip } from './skip.ts';

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

/** Skips the test that runs on a cluster that lacks this. */
export function needs(need: Need): void {
  if (givenCluster()?.lacks.includes(need) === true) skip(lackOf(need));
}

export const lackOf = (need: Need): string => `it needs ${need}, which the cluster has not`;
