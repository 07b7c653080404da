import { once } from 'node:events';
import type { ClusterCache } from './cluster-cache.ts';

/** Resolves once the cache no longer holds any of these VMs, each by its UID; rejects when `signal` is aborted. */
export async function waitForDeletion(
  cache: ClusterCache,
  namespace: string,
  vms: readonly { name: string; uid: string }[],
  signal: AbortSignal,
): Promise<void> {
  const isGone = (): boolean => vms.every(({ name, uid }) => cache.vms.get(`${namespace}/${name}`)?.uid !== uid);
  if (isGone()) return;
  const gone = Promise.withResolvers<void>();
  const unsubscribe = cache.subscribe(() => {
    if (isGone()) gone.resolve();
  });
  try {
    await Promise.race([gone.promise, once(signal, 'abort').then(() => Promise.reject(signal.reason as Error))]);
  } finally {
    unsubscribe();
  }
}
