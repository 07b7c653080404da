import type { MemberKind } from '../../api/owner-kinds.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { shownWithin } from './shown-within.ts';

const TIMEOUT_MS = 5_000;

/**
 * Resolves once the cache shows each of these VMs, VMIs or kept claims as terminating or deleted. The answer to a
 * DELETE carries no resource version if the object is deleted at once, so only the cache can tell that a later plan
 * will not count it.
 */
export async function waitForTermination(
  cache: Pick<ClusterCache, MemberKind['cache'] | 'keptClaims' | 'subscribe'>,
  namespace: string,
  kind: MemberKind['cache'] | 'keptClaims',
  members: readonly Member[],
): Promise<void> {
  const cached = cache[kind];
  const isGone = ({ name, uid }: Member): boolean => {
    const view = cached.get(`${namespace}/${name}`);
    return view?.uid !== uid || view.deleting;
  };
  if (!(await shownWithin(cache, () => members.every(isGone), TIMEOUT_MS))) await cached.relist({ namespace });
}
