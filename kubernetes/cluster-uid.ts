import { Namespaces } from '../api/resources.ts';
import type { KubeClient } from './client.ts';

/**
 * Returns the UID of the namespace kube-system: a cluster keeps it for its whole life, and no two clusters share it.
 */
export async function clusterUidOf(client: Pick<KubeClient, 'get'>, signal?: AbortSignal): Promise<string> {
  const { metadata } = await client.get(Namespaces, { name: 'kube-system' }, signal === undefined ? {} : { signal });
  return metadata.uid;
}
