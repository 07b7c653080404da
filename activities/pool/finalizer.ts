import { cancellationSignal } from '@temporalio/activity';
import { POOL_FINALIZER } from '../../api/names.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import { livePool } from './live-pool.ts';
import type { PoolKey } from './types.ts';

/** Adds drover's finalizer to the pool, or removes it. Tries until it can: nothing else would let the pool go. */
export async function setFinalizer(client: KubeClient, key: PoolKey, held: boolean): Promise<ResourceVersions> {
  for (;;) {
    const pool = await livePool(client, key);
    if (pool === undefined) return {};
    const { resourceVersion, finalizers: current = [], deletionTimestamp } = pool.metadata;
    if (current.includes(POOL_FINALIZER) === held || (held && deletionTimestamp !== undefined))
      return { pools: resourceVersion };
    const finalizers = held
      ? [...current, POOL_FINALIZER]
      : current.filter((finalizer) => finalizer !== POOL_FINALIZER);
    const patch = { metadata: { resourceVersion, finalizers } };
    const patched = await ignoreStale(
      client.patch(VirtualMachinePools, key, 'merge', patch, { signal: cancellationSignal() }),
    );
    if (patched !== undefined) return { pools: patched.metadata.resourceVersion };
  }
}
