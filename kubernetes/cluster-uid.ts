import { Namespaces } from '../api/resources.ts';
import type { KubeClient } from './client.ts';

/**
 * The UID of the namespace kube-system: every cluster has it from its beginning to its end, and no other cluster has
 * the same.
 */
export async function clusterUidOf(client: Pick<KubeClient, 'get'>, signal?: AbortSignal): Promise<string> {
  const { metadata } = await client.get(Namespaces, { name: 'kube-system' }, signal === undefined ? {} : { signal });
  return metadata.uid;
}
