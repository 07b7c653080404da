import type { NodeView } from '../views/node.ts';

/** How many nodes there are that run VMs, and how many of them do not answer. */
export interface NodeCounts {
  lost: number;
  all: number;
}

/** KubeVirt's label of a node that has a virt-handler, whatever its value. */
const HANDLED_LABEL = 'kubevirt.io/schedulable';

export function countNodes(nodes: Iterable<Pick<NodeView, 'labels' | 'ready'>>): NodeCounts {
  const counts = { lost: 0, all: 0 };
  for (const { labels, ready } of nodes) {
    if (labels?.[HANDLED_LABEL] === undefined) continue;
    counts.all++;
    if (!ready) counts.lost++;
  }
  return counts;
}

/**
 * Returns why a VM whose node does not answer is not to be replaced; null if it may be. If most nodes are silent, the
 * way to them is probably cut, and their guests run. Kubernetes evicts no pods then, either.
 */
export const whyOutage = ({ lost, all }: NodeCounts): string | null =>
  lost * 2 > all
    ? `its node does not answer, and neither do most others (${lost} of ${all}): the fault is probably common to them`
    : null;
