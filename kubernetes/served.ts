import { CLAIM_LABEL, CLAIM_NAME, type Claim } from '../api/claims/claim.ts';
import { Leases, Namespaces } from '../api/resources.ts';
import type { KubeClient } from './client.ts';
import { ignoreNotFound } from './errors.ts';

/** The namespace that stands for its cluster: a cluster keeps it for its whole life, and no two clusters share it. */
const OF_CLUSTER = 'kube-system';

/**
 * Returns the UID of what workers serve: of `namespace` if they serve one alone, which a Role allows them to read, or
 * else of kube-system.
 */
export async function servedUidOf(
  client: Pick<KubeClient, 'get'>,
  namespace: string | undefined,
  signal?: AbortSignal,
): Promise<string> {
  const name = namespace ?? OF_CLUSTER;
  const { metadata } = await client.get(Namespaces, { name }, signal === undefined ? {} : { signal });
  return metadata.uid;
}

/** Returns the name of the workers that the namespace is left to; undefined if it is left to none. */
export async function claimHolderOf(client: Pick<KubeClient, 'get'>, namespace: string): Promise<string | undefined> {
  const claim = await ignoreNotFound(client.get<Claim>(Leases, { namespace, name: CLAIM_NAME }));
  // Without the label, the workers of the cluster do not see it.
  return claim?.metadata.labels?.[CLAIM_LABEL] === undefined ? undefined : claim.spec?.holderIdentity;
}
