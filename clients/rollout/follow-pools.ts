import type { Stored } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { Failure } from '../cli/failure.ts';
import { aboutKind } from '../cli/known-kind.ts';
import { noteBrokenWatch } from '../cli/output.ts';
import type { Pool } from '../pools/objects.ts';

export interface Followed {
  kube: KubeClient;
  /** The pools as last read. A pool that is deleted, or replaced by another of its name, is a `Failure`. */
  pools: Stored<Pool>[];
  /** Stops following: its reason is thrown. */
  signal?: AbortSignal | undefined;
}

/**
 * Calls `look` with the pools as given, and again after each change, until it returns true. All pools must be in one
 * namespace.
 */
export async function followPools(
  { kube, pools, signal }: Followed,
  look: (pools: Stored<Pool>[]) => boolean,
): Promise<void> {
  if (pools.length === 0 || look(pools)) return;
  signal?.throwIfAborted();
  const newest = new Map(pools.map((pool) => [pool.metadata.name, pool]));
  const done = Promise.withResolvers<void>();
  let isReady = false;
  const watch = new ListWatch<Stored<Pool>, Stored<Pool>>({
    client: kube,
    resource: VirtualMachinePools,
    namespace: pools[0]!.metadata.namespace!,
    view: (pool) => pool,
    onChange: (_key, before, after) => {
      const { name, uid } = (after ?? before!).metadata;
      const known = newest.get(name);
      if (known === undefined) return;
      if (after === undefined || after.metadata.uid !== known.metadata.uid) {
        if (uid === known.metadata.uid || after !== undefined) done.reject(gone(name));
        return;
      }
      newest.set(name, after);
      attempt();
    },
    onError: (error) => (isReady ? noteBrokenWatch(error) : done.reject(aboutKind(VirtualMachinePools, error))),
  });
  const attempt = (): void => {
    try {
      if (look([...newest.values()])) done.resolve();
    } catch (error) {
      done.reject(error);
    }
  };
  const abort = (): void => done.reject(signal?.reason as Error);
  signal?.addEventListener('abort', abort);
  try {
    void watch
      .start()
      .ready()
      .then(() => {
        isReady = true;
        const present = new Set([...watch.values()].map(({ metadata }) => metadata.uid));
        for (const { metadata } of newest.values()) if (!present.has(metadata.uid)) done.reject(gone(metadata.name));
      });
    await done.promise;
  } finally {
    signal?.removeEventListener('abort', abort);
    await watch.stop();
  }
}

const gone = (name: string): Failure => new Failure(`pool ${name} is gone`);
