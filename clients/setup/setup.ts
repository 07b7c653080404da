import type { KubeClient } from '../../kubernetes/client.ts';
import { searchAttributes } from '../../workflows/lib/search-attributes.ts';
import type { Temporal } from '../session/temporal.ts';
import { applyCrds, applyPolicies } from './crds.ts';
import { missingSearchAttributes, registerSearchAttributes } from './search-attributes.ts';
import { setUpWatch } from './watch.ts';

export interface SetupOptions {
  kube: KubeClient;
  temporal: Temporal;
  /** drover's name for the cluster. */
  cluster: string;
  /** Report what would be done, without doing it. */
  dryRun?: boolean;
  /** Called with one line for each thing that was done or found. */
  say: (line: string) => void;
}

/**
 * Makes a cluster and a Temporal namespace ready for drover: its custom resources, its search attributes, and the
 * workflow that watches the cluster. Safe to repeat. Throws `Failure` with one sentence.
 */
export async function setup({ kube, temporal, cluster, dryRun = false, say }: SetupOptions): Promise<void> {
  // Checks what may be refused before anything is written.
  const missing = await missingSearchAttributes(temporal);
  await applyCrds(kube, dryRun, say);
  await applyPolicies(kube, dryRun, say);
  if (!dryRun) await registerSearchAttributes(temporal, missing);
  for (const attribute of searchAttributes) {
    say(`search attribute ${attribute.name} ${missing.includes(attribute) ? 'registered' : 'unchanged'}`);
  }
  await setUpWatch({ kube, temporal, cluster, dryRun, say });
}
