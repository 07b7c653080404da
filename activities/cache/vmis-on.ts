import type { VmiView } from '../../decisions/views/vmi.ts';
import type { ClusterCache } from './cluster-cache.ts';
import type { ObjectChange } from './objects/cache-change.ts';

/** The VMIs on the node that has changed. */
export function vmisOn(
  { before, after }: Extract<ObjectChange, { kind: 'node' }>,
  { vmis }: Pick<ClusterCache, 'vmis'>,
): VmiView[] {
  const { name } = (after ?? before)!;
  return [...vmis.values()].filter(({ node, podNode }) => node === name || podNode === name);
}
