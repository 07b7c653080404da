import type { KubeClient } from '../kubernetes/client.ts';
import { applyCrds } from './setup-crds.ts';
import { registerSearchAttributes } from './setup-search-attributes.ts';
import { startWatch } from './setup-watch.ts';
import type { Temporal } from './temporal.ts';

export interface SetupOptions {
  kube: KubeClient;
  temporal: Temporal;
  /** drover's name for the cluster. */
  cluster: string;
  /** Told one line for each thing that was done or found. */
  say: (line: string) => void;
}

/**
 * Makes a cluster and a Temporal namespace ready for drover: its custom resources, its search attributes, and the workflow
 * that watches the cluster. It may be run any number of times. Throws `Failure` with one sentence.
 */
export async function setup({ kube, temporal, cluster, say }: SetupOptions): Promise<void> {
  await applyCrds(kube, say);
  await registerSearchAttributes(temporal, say);
  await startWatch(temporal, cluster, say);
}
