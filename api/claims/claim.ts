import { GROUP } from '../labels-and-annotations.ts';
import type { KubeObject } from '../objects.ts';

/**
 * A Lease of this name, with this label, leaves its namespace to the workers that it names (`holderIdentity`): those of
 * the whole cluster do nothing there.
 */
export const CLAIM_NAME = 'drover';
export const CLAIM_LABEL = `${GROUP}/claim`;

/** The name of the workers that serve one namespace of a cluster alone: in workflow ids, task queues and claims. */
export const workersOf = (cluster: string, namespace: string): string => `${cluster}.${namespace}`;

/** Returns the namespaces of a list such as `shop,bank`, each once. */
export const namespacesIn = (list: string): string[] => [...new Set(list.split(',').map((name) => name.trim()))];

/** A Lease, as far as drover reads it. */
export interface Claim extends KubeObject {
  spec?: { holderIdentity?: string };
}

/** The claim of a namespace by the workers of this name. */
export const claimOf = (namespace: string, cluster: string): Claim => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { namespace, name: CLAIM_NAME, labels: { [CLAIM_LABEL]: 'true' } },
  spec: { holderIdentity: cluster },
});
