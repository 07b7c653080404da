import { KubeVirtPools, type Resource } from '../api/resources.ts';
import type { KubeClient } from './client.ts';
import { ignoreNotFound } from './errors.ts';

/** Returns KubeVirt's own pools, in the version that this KubeVirt prefers; undefined if it has none. */
export async function kubeVirtPools(kube: KubeClient): Promise<Resource | undefined> {
  const path = `/apis/${KubeVirtPools.group}`;
  const group = await ignoreNotFound(kube.request<{ preferredVersion: { version: string } }>({ method: 'GET', path }));
  return group && { ...KubeVirtPools, version: group.preferredVersion.version };
}
