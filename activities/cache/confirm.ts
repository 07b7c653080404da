import type { KubeList, KubeObject } from '../../api/objects.ts';
import { pathOf, VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { isVersion, maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ListWatch } from '../../kubernetes/list-watch.ts';

const CONFIRMED_AT_ONCE = 16;

interface Caches {
  vms: Pick<ListWatch<KubeObject, unknown>, 'get' | 'relist'>;
  vmis: Pick<ListWatch<KubeObject, unknown>, 'get' | 'relist'>;
  catchUp: (minVersions: ResourceVersions) => Promise<unknown>;
}

/**
 * Has the caches reach what the API server has now of these VMs and their VMIs, given by `namespace/name`. Throws if
 * the server does not answer within `deadlineMs`.
 */
export async function confirm(
  client: KubeClient,
  cache: Caches,
  keys: readonly string[],
  deadlineMs: number,
): Promise<void> {
  let minVersions: ResourceVersions = {};
  const waiting = [...keys];
  const next = async (): Promise<void> => {
    for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
      const [namespace = '', name = ''] = key.split('/');
      const kinds = [VirtualMachines, VirtualMachineInstances];
      const [vm, vmi] = await Promise.all(
        kinds.map((kind) => ignoreNotFound(client.get(kind, { namespace, name }, { deadlineMs }))),
      );
      minVersions = maxVersions(minVersions, {
        vms: vm?.metadata.resourceVersion,
        vmis: vmi?.metadata.resourceVersion,
      });
      if (vm === undefined && cache.vms.get(key) !== undefined) await cache.vms.relist({ namespace, name });
      if (vmi === undefined && cache.vmis.get(key) !== undefined) await cache.vmis.relist({ namespace, name });
    }
  };
  await Promise.all(Array.from({ length: CONFIRMED_AT_ONCE }, next));
  await cache.catchUp(minVersions);
}

/**
 * Asks the API server for something small, which tells its version, too. A lower one than was `seen` before means that
 * it was restored from a backup. Watches don't tell: from a version that the API server does not have yet, they are
 * silent until it has. Throws if it does not answer.
 */
export async function wasRestored(
  client: KubeClient,
  namespace: string | undefined,
  { seen, deadlineMs }: { seen: bigint; deadlineMs: number },
): Promise<boolean> {
  const path = `${pathOf(VirtualMachinePools, namespace)}?limit=1`;
  const { metadata } = await client.request<Partial<KubeList>>({ method: 'GET', path, deadlineMs, isProbe: true });
  const version = metadata?.resourceVersion;
  return isVersion(version) && BigInt(version) < seen;
}
