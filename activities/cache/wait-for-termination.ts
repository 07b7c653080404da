import { setTimeout as sleep } from 'node:timers/promises';
import type { MemberKind } from '../../api/owner-kinds.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import type { ClusterCache } from './cluster-cache.ts';

const TIMEOUT_MS = 5_000;

/**
 * Resolves once the cache shows each of these VMs, or VMIs, as terminating or deleted. The answer to a DELETE carries
 * no resource version if the object is deleted at once, so only the cache can tell that a later plan will not count the
 * VM.
 */
export async function waitForTermination(
  cache: ClusterCache,
  namespace: string,
  kind: MemberKind['cache'],
  members: readonly Target[],
): Promise<void> {
  const cached = cache[kind];
  const remaining = new Map(members.map(({ name, uid }) => [name, uid]));
  const strike = (name: string): void => {
    const view = cached.get(`${namespace}/${name}`);
    if (view === undefined || view.deleting || view.uid !== remaining.get(name)) remaining.delete(name);
  };
  for (const name of remaining.keys()) strike(name);
  if (remaining.size === 0) return;

  const left = Promise.withResolvers<void>();
  const unsubscribe = cache.subscribe((change) => {
    if (change.kind !== 'vm' && change.kind !== 'vmi') return;
    const view = (change.after ?? change.before)!;
    if (view.namespace === namespace && remaining.has(view.name)) strike(view.name);
    if (remaining.size === 0) left.resolve();
  });
  const timeout = new AbortController();
  try {
    const late = sleep(TIMEOUT_MS, 'late', { signal: timeout.signal }).catch(() => undefined);
    if ((await Promise.race([left.promise, late])) === 'late') await cached.relist();
  } finally {
    timeout.abort();
    unsubscribe();
  }
}
