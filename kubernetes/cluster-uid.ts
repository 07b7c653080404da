import { Namespaces } from '../api/resources.ts';
import type { KubeClient } from './client.ts';

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
