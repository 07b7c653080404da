import type { StoredPool } from '../decisions/vm-from-template.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { orNothing } from '../kubernetes/errors.ts';
import type { KubeObject } from '../kubernetes/objects.ts';
import { VirtualMachinePools } from '../kubernetes/resources.ts';
import type { PoolKey } from './pool.ts';

/**
 * The pool as the API server has it in this moment; undefined if it is gone, or another has taken its name. A worker's cache may
 * be as old as the worker was suspended: what acts on a pool's wish asks for it anew.
 */
export async function livePool(client: KubeClient, { namespace, name, uid }: PoolKey, signal?: AbortSignal): Promise<StoredPool | undefined> {
  const pool = await orNothing(client.get<KubeObject>(VirtualMachinePools, { namespace, name }, { signal }));
  return pool?.metadata.uid === uid ? (pool as unknown as StoredPool) : undefined;
}
