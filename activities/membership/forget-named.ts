import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import { namedIn, namesText, type NamingAnnotation } from '../../decisions/views/annotations/named-vms.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { patchPool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';

/** Takes VMs off an annotation of the pool that names them. Returns what a later plan must have seen. */
export async function forgetNamed(
  client: KubeClient,
  key: PoolKey,
  annotation: NamingAnnotation,
  vms: readonly Member[],
): Promise<ResourceVersions> {
  const { minVersions } = await patchPool(client, key, ({ metadata: { annotations } }) => {
    const { vms: before } = namedIn(annotations, annotation);
    const rest = new Map(before);
    for (const { name, uid } of vms) if (rest.get(name)?.uid === uid) rest.delete(name);
    if (rest.size === before.size) return null;
    return { metadata: { annotations: { [annotation]: namesText(rest) } } };
  });
  return minVersions;
}
