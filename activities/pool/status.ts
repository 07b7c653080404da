import { cancellationSignal } from '@temporalio/activity';
import type { Stored } from '../../api/objects.ts';
import { PoolStatus } from '../../api/pool/pool.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { hasSpentClaimsAlone } from '../../decisions/disruption-budget/claims.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isNotFound, KubeError } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { livePool } from './live-pool.ts';
import type { PoolKey } from './types.ts';

/** Written by whatever disrupts the pool's VMs. */
const CLAIMS = 'disruptedVMs';
const OWN = PoolStatus.keyof().options.filter((field) => field !== CLAIMS);

/**
 * What a later plan must have seen. `isLate`: another worker had written the status by then, so it was left as it is.
 */
export type WrittenStatus = ResourceVersions & { isLate?: true };

type Operation = { op: 'test' | 'add'; path: string; value: unknown } | { op: 'remove'; path: string };

/**
 * Writes what a plan has found to the pool's status, if that is still the status that the plan has seen: a late write,
 * by a worker that was taken for dead, gives way. Leaves disruption claims as they are, unless all of them are spent.
 */
export async function writePoolStatus(
  client: KubeClient,
  cache: ClusterCache,
  key: PoolKey,
  status: PoolStatus,
): Promise<WrittenStatus> {
  const cached = cache.pools.get(`${key.namespace}/${key.name}`);
  const write = (before: PoolStatus | undefined, spent?: unknown): Promise<Stored | undefined> => {
    const path = `/status/${CLAIMS}`;
    const forgets: Operation[] =
      spent === undefined
        ? []
        : [
            { op: 'test', path, value: spent },
            { op: 'remove', path },
          ];
    const patch = [{ op: 'test', path: '/metadata/uid', value: key.uid }, ...changes(before, status), ...forgets];
    return client.patch(VirtualMachinePools, key, 'json', patch, {
      subresource: 'status',
      signal: cancellationSignal(),
    });
  };
  try {
    const written = await write(cached?.status, cached && spentClaims(cache, cached));
    return { pools: written?.metadata.resourceVersion };
  } catch (error) {
    if (isNotFound(error)) return {};
    if (!isConflict(error) && !(error instanceof KubeError && error.status === 422)) throw error;
    // The cache may be behind, or the status may be another worker's by now.
    const live = await livePool(client, key, cancellationSignal());
    if (live === undefined) return {};
    const isOther = status.writes !== undefined && (live.status?.writes ?? 0) + 1 !== status.writes;
    if (isOther) return { pools: live.metadata.resourceVersion, isLate: true };
    const written = await write(live.status);
    return { pools: written?.metadata.resourceVersion };
  }
}

function changes(before: PoolStatus | undefined, status: PoolStatus): Operation[] {
  if (before === undefined)
    return [
      { op: 'test', path: '/status', value: null },
      { op: 'add', path: '/status', value: status },
    ];
  const fields = OWN.flatMap((field): Operation[] => {
    const path = `/status/${field}`;
    const value = status[field];
    if (value !== undefined) return [{ op: 'add', path, value }];
    // A field that may be absent can't be removed, so it is added first.
    return [
      { op: 'add', path, value: null },
      { op: 'remove', path },
    ];
  });
  return [{ op: 'test', path: '/status/writes', value: before.writes ?? null }, ...fields];
}

function spentClaims(cache: ClusterCache, pool: StoredPool): unknown {
  const context = { pool, vms: cache.ownedBy(pool.metadata.uid), vmiOf: cache.vmiOf.bind(cache) };
  return hasSpentClaimsAlone(context, Date.now()) ? pool.status?.disruptedVMs : undefined;
}
