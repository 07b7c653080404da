import type { Stored } from '../../api/objects.ts';
import { poolsOfSameDisks } from '../../decisions/disks/disk-conflict.ts';
import type { Pool, StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreKubeError } from '../../kubernetes/errors.ts';
import { Pools } from '../cli/kinds.ts';

/** A sentence for each of these pools whose VMs would need disks with names that another pool's VMs have or need. */
export async function collisions(kube: KubeClient, pools: readonly Stored<Pool>[]): Promise<string[]> {
  const namespaces = [...new Set(pools.map(({ metadata }) => metadata.namespace ?? ''))];
  const lists = await Promise.all(namespaces.map((namespace) => poolsIn(kube, namespace)));
  return collisionsAmong(pools, lists.flat());
}

/** Empty if pools can't be listed: the worker checks each disk anyway. */
const poolsIn = async (kube: KubeClient, namespace: string): Promise<Stored<Pool>[]> =>
  (await ignoreKubeError(kube.list<Pool>(Pools.resource, { namespace })))?.items ?? [];

const namespacedName = ({ metadata }: Stored<Pool>): string => `${metadata.namespace}/${metadata.name}`;

/** `stored`: the pools before these are applied. */
export function collisionsAmong(pools: readonly Stored<Pool>[], stored: readonly Stored<Pool>[]): string[] {
  const applied = new Set(pools.map(namespacedName));
  const all = [...pools, ...stored.filter((pool) => !applied.has(namespacedName(pool)))] as StoredPool[];
  return ([...pools] as StoredPool[]).flatMap((pool) => {
    const rivals = poolsOfSameDisks(pool, all).map(({ metadata }) => metadata.name);
    if (rivals.length === 0) return [];
    const others = `${rivals.length === 1 ? 'pool' : 'pools'} ${rivals.join(', ')}`;
    const rule = 'no VM of one is made with, or updated to, a disk of the other';
    return [
      `pool ${pool.metadata.name}: ${others} of this namespace has a dataVolumeTemplate of the same name: ${rule}`,
    ];
  });
}
