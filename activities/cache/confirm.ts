import type { KubeObject } from '../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
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
  let isGone = false;
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
      isGone ||=
        (vm === undefined && cache.vms.get(key) !== undefined) ||
        (vmi === undefined && cache.vmis.get(key) !== undefined);
    }
  };
  await Promise.all(Array.from({ length: CONFIRMED_AT_ONCE }, next));
  if (isGone) await Promise.all([cache.vms.relist(), cache.vmis.relist()]);
  await cache.catchUp(minVersions);
}
