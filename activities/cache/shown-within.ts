import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterCache } from './cluster-cache.ts';

/**
 * Resolves to true once this is so in the cache, which is looked at again after each change; to false if it is not
 * within `timeoutMs`. Rejects when `signal` is aborted.
 */
export async function shownWithin(
  cache: Pick<ClusterCache, 'subscribe'>,
  isSo: () => boolean,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  if (isSo()) return true;
  const over = new AbortController();
  const shown = Promise.withResolvers<boolean>();
  const unsubscribe = cache.subscribe(() => {
    if (isSo()) shown.resolve(true);
  });
  try {
    const either = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
    return await Promise.race([shown.promise, sleep(timeoutMs, false, { signal: either })]);
  } finally {
    over.abort();
    unsubscribe();
  }
}
