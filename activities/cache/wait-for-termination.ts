import type { MemberKind } from '../../api/owner-kinds.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { shownWithin } from './shown-within.ts';

const TIMEOUT_MS = 5_000;

/**
 * Resolves once the cache shows each of these VMs, VMIs or kept claims as terminating or deleted. The answer to a
 * DELETE carries no resource version if the object is deleted at once, so only the cache can tell that a later plan
 * will not count it. If disks are kept, a VM that is terminating and held for its disks would be planned again.
 */
export async function waitForTermination(
  cache: Pick<ClusterCache, MemberKind['cache'] | 'keptClaims' | 'subscribe'>,
  namespace: string,
  kind: MemberKind['cache'] | 'keptClaims',
  members: readonly Member[],
  keepDisks = false,
): Promise<void> {
  const cached = cache[kind];
  const isGone = ({ name, uid }: Member): boolean => {
    const view = cached.get(`${namespace}/${name}`);
    if (view?.uid !== uid) return true;
    return view.deleting && !(keepDisks && 'keepsDisks' in view && view.keepsDisks);
  };
  if (!(await shownWithin(cache, () => members.every(isGone), TIMEOUT_MS))) await cached.relist({ namespace });
}
