import { setTimeout as sleep } from 'node:timers/promises';
import type { Target } from '../../decisions/pool/steps.ts';
import type { ClusterCache } from './cluster-cache.ts';

const PATIENCE_MS = 5_000;

/** The cache of the members of pools and sets: VMs, or VMIs. */
export type MemberKind = 'vm' | 'vmi';

/**
 * Resolves once the cache shows each of these VMs, or VMIs, as terminating or deleted. The answer to a DELETE carries no resource
 * version if the object is deleted at once, so only the cache can tell that a later plan will not count the VM.
 */
export async function waitForTermination(
  cache: ClusterCache,
  namespace: string,
  kind: MemberKind,
  members: readonly Target[],
): Promise<void> {
  const { [`${kind}s` as const]: cached } = cache;
  const remaining = new Map(members.map(({ name, uid }) => [name, uid]));
  const strike = (name: string): void => {
    const view = cached.get(`${namespace}/${name}`);
    if (view === undefined || view.deleting || view.uid !== remaining.get(name)) remaining.delete(name);
  };
  for (const name of remaining.keys()) strike(name);
  if (remaining.size === 0) return;

  const left = Promise.withResolvers<void>();
  const unsubscribe = cache.subscribe((change) => {
    const view = change.kind === kind ? (change.after ?? change.before) : undefined;
    if (view?.namespace === namespace && remaining.has(view.name)) strike(view.name);
    if (remaining.size === 0) left.resolve();
  });
  const patience = new AbortController();
  try {
    const late = sleep(PATIENCE_MS, 'late', { signal: patience.signal }).catch(() => undefined);
    if ((await Promise.race([left.promise, late])) === 'late') await cached.relist();
  } finally {
    patience.abort();
    unsubscribe();
  }
}
